/* SPDX-License-Identifier: Apache-2.0
 *
 * Sub-buffers that C makes. */
#pragma once

#include <CL/cl.h>

cl_mem fpgart_makes_sub_buffer(const void *buffer, cl_mem_flags flags, cl_buffer_create_type type,
                               const void *region); /* NULL: left to Python */
