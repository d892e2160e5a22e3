/* SPDX-License-Identifier: Apache-2.0
 *
 * First-fit allocation of address ranges, in time that grows with the logarithm of the number of
 * free ranges. Any thread may call the functions. */
#pragma once
#include "for_python.h"

#include <stdint.h>
/* cffi */
struct first_fit; /* a heap: a range of addresses, of which parts are allocated */
/* Returns a heap of the addresses from `begin` to `end` (exclusive); NULL without memory. */
AT_ONCE struct first_fit *first_fit_new(uint64_t begin, uint64_t end);
AT_ONCE void first_fit_delete(struct first_fit *heap);
/* Returns the lowest multiple of `alignment`, at or above `first`, where `size` bytes are free, and
 * allocates them; -1 if there is none. Sizes are rounded up to 1 KiB. */
AT_ONCE int64_t first_fit_allocate(struct first_fit *heap, uint64_t size, uint64_t first,
                                   uint64_t alignment);
/* Frees a range that first_fit_allocate() returned, and joins it with its free neighbours. */
AT_ONCE void first_fit_free(struct first_fit *heap, uint64_t address, uint64_t size);
AT_ONCE uint64_t first_fit_free_bytes(struct first_fit *heap);
/* Writes address and size of the free ranges, in order, `room` of them at most. Returns their
 * number. */
AT_ONCE uint64_t first_fit_holes(struct first_fit *heap, uint64_t (*holes)[2], uint64_t room);
/* cffi */
