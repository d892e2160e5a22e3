/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FPGART_PAGES_H
#define FPGART_PAGES_H
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* Addresses are integers on the Python side; sizes are in bytes. Mapping functions return 0 on
 * failure. A file in memory that no folder has, closed when a program is started; -1 where there is
 * none. */
int memory_file(const char *name);
uintptr_t map_file(int descriptor, size_t size);
/* A part of a file at an address and nowhere else; 0 where something else is already. `huge`: of
 * huge pages, where the system has them for files in memory. */
uintptr_t map_part(int descriptor, uint64_t offset, uintptr_t address, size_t size, int huge);
/* The same part of a file once more, wherever the system has room. */
uintptr_t map_again(int descriptor, uint64_t offset, size_t size);
/* Takes all rights from mapped memory: whoever accesses it has a fault. 0 on success. */
int close_pages(uintptr_t address, size_t size);
/* Whether memory will not be swapped out once it has been touched. */
int keep_in_memory(uintptr_t address, size_t size);
uintptr_t map_anonymous(size_t size);
/* At an address and nowhere else; 0 where something else is already. */
uintptr_t map_at(uintptr_t address, size_t size);
/* Memory as a board's driver gives it, never there before it is touched: of pages that the system
 * keeps for those who ask where the size is a multiple of 2 MiB, else of such pages as it makes up
 * itself. `locked`: whether it will not be swapped out, which a limit may forbid. 0 when there is
 * none. */
uintptr_t map_pinned(size_t size, int *locked);
/* The same of small pages, for which touched_pages() can be asked. Children that are forked share
 * it. */
uintptr_t map_watched(size_t size, int *locked);
/* What map_watched() gave counts as untouched from now on. 0 on success. */
int forget_touches(uintptr_t address, size_t size);
/* Sets a byte to 1 for each page that anybody has touched since forget_touches(); a read may count
 * for up to 16 pages. Gives how many, -1 where the system does not tell. */
long touched_pages(uintptr_t address, size_t pages, char *touched);
int unmap(uintptr_t address, size_t size);
/* Bytes of map_file() read as zeros from then on, and pages that have no others are given back. 0
 * on success. */
int discard(uintptr_t address, size_t size);
int punch(int descriptor, uint64_t offset, uint64_t size);
/* cffi */
#endif
