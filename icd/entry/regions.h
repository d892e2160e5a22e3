/* SPDX-License-Identifier: Apache-2.0
 *
 * Sub-buffers that C makes. */
#ifndef FPGART_REGIONS_H
#define FPGART_REGIONS_H

#include <CL/cl.h>

cl_mem fpgart_makes_sub_buffer(const void *buffer, cl_mem_flags flags, cl_buffer_create_type type,
                               const void *region); /* NULL: left to Python */

#endif
