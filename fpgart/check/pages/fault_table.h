/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of protected memory: boards' memories, the regions in them, and the pages that are
 * open now. The handler of SIGSEGV reads it without a lock. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum fault_state { FAULT_FREE, FAULT_OPEN, FAULT_WHILE_RUNNING, FAULT_GONE, FAULT_ONLY_READ };

/* `size` bytes from `begin` to `end`, on the pages from `first` to `last`. `reported` has a bit per
 * kind of access that has a finding. */
struct fault_region {
    int number;
    uintptr_t begin, end, first, last;
    _Atomic int state, reported, open;
    int family;
    char name[120], maker[40];
};

/* Protects a board's memory, except open regions; 0 if it cannot. `closed`: open regions as
 * well. */
int fault_cover(uintptr_t begin, size_t size, int closed);
int fault_is_closed(uintptr_t address);
/* 1 if an address is in a board's memory. */
int fault_on_board(uintptr_t address);
/* Returns the region whose pages contain an address; NULL for none. */
struct fault_region *fault_region_with(uintptr_t address);
/* Finds the regions next to an address that is in none; NULL for none. */
void fault_neighbours(uintptr_t address, struct fault_region **below, struct fault_region **above);

/* Opens a region until no operation runs; 0 if the system refuses. */
int fault_open_region(struct fault_region *region, int rights);
/* Opens the page of an address in no region until no operation runs; 0 if the system refuses. */
int fault_open_page(uintptr_t address);
/* 1 if the page before that of an address was opened, and is in no region. */
int fault_page_before_is_open(uintptr_t address);

/* Operations of devices: regions may be open while any runs; the end of the last one closes all
 * that were opened. */
void fault_operation_began(void);
void fault_operation_ended(void);
int fault_operations_run(void);

/* Opens all memory permanently, if accesses cannot be detected; 0 if that was done before. */
int fault_unprotect(void);
int fault_is_unprotected(void);
