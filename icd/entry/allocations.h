/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocations of unified shared memory, and of shared virtual memory; `uint64_t context` is the
 * context's serial. */
#pragma once

#include "for_python.h"

#include <CL/cl.h>
#include <stddef.h>
#include <stdint.h>

/* `is_plain`: kernels on all devices of the context use the host's pointer. `is_watched`: the
 * host's accesses are recorded. `device`: the one whose board's memory it is; 0: the host's. */
AT_ONCE void fpgart_allocation_made(uintptr_t context, uintptr_t begin, size_t size, int is_plain,
                                    int is_watched, uintptr_t device);
AT_ONCE void fpgart_allocation_goes(uintptr_t context, uintptr_t begin);
/* Returns 0 without memory. While a context has SVM, C makes no buffers over the host's memory:
 * kernels use SVM where it is. */
AT_ONCE int fpgart_svm_made(uintptr_t context, uintptr_t begin, size_t size);
AT_ONCE void fpgart_svm_removed(uintptr_t context, uintptr_t begin);
int fpgart_has_svm(uint64_t context);
int fpgart_is_svm(uint64_t context, uintptr_t pointer, size_t size); /* all bytes in one */
int fpgart_exceeds_svm(uint64_t context, uintptr_t pointer, size_t size);
void fpgart_allocations_go(uint64_t context);
int fpgart_is_allocated(uint64_t context, uintptr_t pointer);
uintptr_t fpgart_plain_allocation(uint64_t context, uintptr_t pointer);
/* Returns 1 if C may move `size` bytes at the pointer, which are in an allocation of the context or
 * in other memory of the host, and writes the device whose board has them; 0: the host. */
int fpgart_may_move(uint64_t context, uintptr_t pointer, size_t size, uintptr_t *device);
/* Answers of clGetMemAllocInfoINTEL, which are kept until the allocation is freed. */
AT_ONCE void fpgart_remember_allocation(uintptr_t context, uintptr_t begin, cl_uint query,
                                        const char *bytes, size_t length);
int fpgart_knows_allocation(const void *context, const void *pointer, cl_uint query, size_t size,
                            void *value, size_t *size_ret);
