/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers that C makes, with spare blocks of a board's memory, and the places of buffers. */
#ifndef FPGART_BLOCKS_H
#define FPGART_BLOCKS_H

#include "boards.h"
#include "for_python.h"

#include <CL/cl.h>

#include <stddef.h>
#include <stdint.h>

cl_mem fpgart_makes_buffer(const void *context, cl_mem_flags flags, size_t size,
                           const void *host); /* NULL: left to Python */
void fpgart_block_goes(struct fpgart_block **slot);
uint64_t fpgart_take_block(struct fpgart_block **slot); /* returns its address */

/* Finds the facts about a buffer that the caller holds; addresses are those of its own bytes. A
 * buffer of C's without a block gets a spare one. Returns 0 if Python has to place the buffer. */
enum { FPGART_ANYWHERE = 64 };
int fpgart_place_in(uintptr_t buffer, const struct fpgart_carried_queue *queue, uint64_t epoch,
                    uint32_t location, struct fpgart_place *found);

/* For Python: fpgart_block_spare() adds a spare block, fpgart_take_spare() removes one and
 * returns its address (0: there is none), and fpgart_memory_changed() records that other
 * memory of the board was freed. */
AT_ONCE int fpgart_block_spare(uintptr_t board, uint64_t number, uint64_t size, uintptr_t pointer,
                               uint64_t locations);
AT_ONCE uint64_t fpgart_take_spare(uintptr_t board, uint64_t size);
AT_ONCE void fpgart_memory_changed(uintptr_t board);

#endif
