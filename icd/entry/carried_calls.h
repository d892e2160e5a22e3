/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's calls that C carries out (FPGART_CALL); 0 leaves the call to Python. */
#pragma once

#include "layout.h"

#include <CL/cl.h>

#include <stddef.h>

struct call;

int fpgart_carry_launch(const struct call *call);
int fpgart_carry_transfer(const struct call *call);
int fpgart_carry_copy(const struct call *call);
int fpgart_carry_rect(const struct call *call);
int fpgart_carry_rect_copy(const struct call *call);
int fpgart_carry_fill(const struct call *call);
/* The handles of the buffers are at `host`, their number is `size`. */
int fpgart_carry_migration(const struct call *call);
int fpgart_carry_map(const struct call *call);
int fpgart_carry_unmap(const struct call *call);
int fpgart_carry_marker(const struct call *call);
/* Carries out a marker or barrier of OpenCL 1.1, which has no wait list. */
int fpgart_carries_marker(const void *queue, cl_command_type type, cl_event *event);
/* Returns a range without dimensions, which is left to Python, for numbers that are wrong. */
struct fpgart_nd_range fpgart_nd_range_of(cl_uint dimensions, const size_t *offset,
                                          const size_t *global, const size_t *local);
/* Returns the address of the region that fpgart_carry_map() has mapped last on this thread. */
void *fpgart_last_mapped(void);
