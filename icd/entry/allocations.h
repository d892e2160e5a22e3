/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocations of unified shared memory; `uint64_t context` is the context's serial. */
#ifndef FPGART_ALLOCATIONS_H
#define FPGART_ALLOCATIONS_H

#include "for_python.h"

#include <stddef.h>
#include <stdint.h>

AT_ONCE void fpgart_allocation_made(uintptr_t context, uintptr_t begin, size_t size, int is_plain);
AT_ONCE void fpgart_allocation_goes(uintptr_t context, uintptr_t begin);
void fpgart_allocations_go(uint64_t context);
int fpgart_is_allocated(uint64_t context, uintptr_t pointer);
uintptr_t fpgart_plain_allocation(uint64_t context, uintptr_t pointer);

#endif
