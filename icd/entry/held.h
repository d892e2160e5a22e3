/* SPDX-License-Identifier: Apache-2.0
 *
 * What a carried command holds and has to count: the data behind its operation. */
#pragma once

#include "arguments.h"
#include "boards.h"
#include "carrier.h"
#include "for_python.h"

#include <stdint.h>

enum { FPGART_USES = 64 };     /* the most buffers, or pointers, of a command */
FOR_PYTHON struct fpgart_use { /* of a buffer by a command: the first byte, or the index of the
                                  argument */
    uintptr_t buffer;
    uint64_t at;
};
/* `data` of the operation is its offset. */
struct held {
    struct fpgart_board *board;
    uintptr_t queue, kernel;
    cl_command_type type;
    uint32_t handed_over; /* Python has run the command, counted it and told watchers */
    uint32_t is_renewed;  /* 1: Python was asked once whether it can be carried in another epoch */
    uintptr_t event;
    struct fpgart_launch *watched; /* NULL: nobody watches */
    uint32_t traffic;              /* the row in the board's counters */
    uint64_t calls, bytes;
    struct fpgart_program program; /* of a launch */
    uint64_t reaches; /* by a launch, besides its arguments: a bit for each kind of allocations */
    uint64_t mapping; /* the number of the mapping in the first buffer; 0: none */
    uint32_t buffers;
    struct fpgart_use uses[FPGART_USES];
};

const struct held *fpgart_held_by(const struct carried *carried);
/* Counts the bytes or the launch of a command that has succeeded. */
void fpgart_count_command(const struct held *held);
void fpgart_let_go_of(const struct held *held);
void fpgart_let_go_later(const struct held *held); /* fpgart_unhold_later() */
