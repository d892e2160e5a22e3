/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers that C makes, with blocks of a board's memory, and the places of buffers. */
#pragma once

#include "boards.h"
#include "for_python.h"

#include <CL/cl.h>

#include <stddef.h>
#include <stdint.h>

/* More bytes than these are moved by Python, which has other threads for that. */
enum { FPGART_SHORT = 1 << 20 };

cl_mem fpgart_makes_buffer(const void *context, cl_mem_flags flags, size_t size,
                           const void *host); /* NULL: left to Python */
void fpgart_block_free(struct fpgart_block *block);
struct fpgart_block fpgart_take_block(struct fpgart_block *block); /* board NULL: there is none */

/* Finds the facts about a buffer that the caller holds; addresses are those of its own bytes. A
 * buffer of C's without a block gets one. Returns 0 if Python has to place the buffer. */
enum { FPGART_ANYWHERE = 64 };
int fpgart_place_in(uintptr_t buffer, const struct fpgart_carried_queue *queue, uint64_t epoch,
                    uint32_t location, struct fpgart_place *found);
/* Returns the address at which a buffer without an address in the host's memory is mapped from now
 * on, or 0 if Python has to allocate that. */
uintptr_t fpgart_store_of(uintptr_t buffer, const struct fpgart_carried_queue *queue);

/* Sets the heap from which C allocates (boards.h), and its limits: room, small and spare; room 0: C
 * allocates no more, because somebody has to see each allocation. `locations` are those for which
 * that memory counts. */
AT_ONCE void fpgart_board_allocates(uintptr_t board, uintptr_t heap, int64_t shift,
                                    const uint64_t *limits, uint64_t locations);
