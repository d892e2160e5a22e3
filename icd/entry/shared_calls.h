/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's calls on shared virtual and unified shared memory that C carries out; 0 leaves the
 * call to Python. */
#pragma once

#include <CL/cl.h>

#include <stddef.h>
#include <stdint.h>

int fpgart_carries_svm_copy(const void *queue, cl_bool blocking, void *to, const void *from,
                            size_t size, cl_uint waits, const cl_event *wait_list, cl_event *event);
int fpgart_carries_svm_fill(const void *queue, void *to, const void *pattern, size_t pattern_size,
                            size_t size, cl_uint waits, const cl_event *wait_list, cl_event *event);
int fpgart_carries_svm_map(const void *queue, cl_bool blocking, cl_map_flags flags, void *pointer,
                           size_t size, cl_uint waits, const cl_event *wait_list, cl_event *event);
int fpgart_carries_svm_unmap(const void *queue, void *pointer, cl_uint waits,
                             const cl_event *wait_list, cl_event *event);
/* `frees`: the host's function that has to free the memory; NULL: there is none. */
int fpgart_carries_svm_free(const void *queue, cl_uint count, void *const *pointers,
                            const void *frees, cl_uint waits, const cl_event *wait_list,
                            cl_event *event);
int fpgart_carries_svm_migration(const void *queue, cl_uint count, const void **pointers,
                                 const size_t *sizes, cl_mem_migration_flags flags, cl_uint waits,
                                 const cl_event *wait_list, cl_event *event);
int fpgart_carries_usm_copy(const void *queue, cl_bool blocking, void *to, const void *from,
                            size_t size, cl_uint waits, const cl_event *wait_list, cl_event *event);
int fpgart_carries_usm_fill(const void *queue, void *to, const void *pattern, size_t pattern_size,
                            size_t size, cl_uint waits, const cl_event *wait_list, cl_event *event);
int fpgart_carries_usm_set(const void *queue, void *to, cl_int value, size_t size, cl_uint waits,
                           const cl_event *wait_list, cl_event *event);
int fpgart_carries_usm_migration(const void *queue, const void *pointer, size_t size,
                                 cl_mem_migration_flags flags, cl_uint waits,
                                 const cl_event *wait_list, cl_event *event);
int fpgart_carries_usm_advice(const void *queue, const void *pointer, size_t size, uint32_t advice,
                              cl_uint waits, const cl_event *wait_list, cl_event *event);
