/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's calls that C carries out, with the host's arguments; 0 leaves the call to Python. */
#pragma once

#include <CL/cl.h>

#include <stddef.h>

int fpgart_carries_launch(const void *queue, const void *kernel, cl_uint dimensions,
                          const size_t *offset, const size_t *global, const size_t *local,
                          cl_uint waits, const cl_event *wait_list, cl_event *event);
int fpgart_carries_task(const void *queue, const void *kernel, cl_uint waits,
                        const cl_event *wait_list, cl_event *event);
int fpgart_carries_read(const void *queue, const void *buffer, cl_bool blocking, size_t offset,
                        size_t size, void *host, cl_uint waits, const cl_event *wait_list,
                        cl_event *event);
int fpgart_carries_write(const void *queue, const void *buffer, cl_bool blocking, size_t offset,
                         size_t size, const void *host, cl_uint waits, const cl_event *wait_list,
                         cl_event *event);
int fpgart_carries_copy(const void *queue, const void *from, const void *to, size_t from_offset,
                        size_t to_offset, size_t size, cl_uint waits, const cl_event *wait_list,
                        cl_event *event);
int fpgart_carries_rect(int is_write, const void *queue, const void *buffer, cl_bool blocking,
                        const size_t *origin, const size_t *host_origin, const size_t *region,
                        size_t row_pitch, size_t slice_pitch, size_t host_row_pitch,
                        size_t host_slice_pitch, const void *host, cl_uint waits,
                        const cl_event *wait_list, cl_event *event);
int fpgart_carries_rect_copy(const void *queue, const void *from, const void *to,
                             const size_t *from_origin, const size_t *to_origin,
                             const size_t *region, size_t from_row_pitch, size_t from_slice_pitch,
                             size_t to_row_pitch, size_t to_slice_pitch, cl_uint waits,
                             const cl_event *wait_list, cl_event *event);
int fpgart_carries_fill(const void *queue, const void *buffer, const void *pattern,
                        size_t pattern_size, size_t offset, size_t size, cl_uint waits,
                        const cl_event *wait_list, cl_event *event);
int fpgart_carries_migration(const void *queue, cl_uint count, const cl_mem *buffers,
                             cl_mem_migration_flags flags, cl_uint waits, const cl_event *wait_list,
                             cl_event *event);
int fpgart_carries_unmap(const void *queue, const void *buffer, const void *pointer, cl_uint waits,
                         const cl_event *wait_list, cl_event *event);
void *fpgart_carries_map(const void *queue, const void *buffer, cl_bool blocking,
                         cl_map_flags flags, size_t offset, size_t size, cl_uint waits,
                         const cl_event *wait_list, cl_event *event); /* NULL: left to Python */
int fpgart_carries_marker(const void *queue, int is_barrier, cl_uint waits,
                          const cl_event *wait_list, cl_event *event);
