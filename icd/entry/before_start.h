/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers without an interpreter: the platform, and the queries of loaders, which they make
 * under their lock, and of programs that list platforms. The functions for the latter return 1 if
 * `status` is the answer. */
#pragma once

#include "for_python.h"

#include <CL/cl.h>

#include <stddef.h>
#include <stdint.h>

struct fpgart_personality {
    const char *key; /* value of FPGART_PLATFORM; NULL behind the last one */
    const char *name, *vendor, *version;
    const char *short_name; /* for hosts with too little memory for the name; "" if there is none */
};
extern const struct fpgart_personality fpgart_personalities[]; /* that of FPGA boards first */
extern const char fpgart_profile[], fpgart_platform_extensions[], fpgart_icd_suffix[];
FOR_PYTHON uintptr_t fpgart_platform(void);

/* Returns the working folder at the host's first query for platforms. Relative paths in
 * options begin there. */
FOR_PYTHON const char *fpgart_first_folder(void);
FOR_PYTHON void fpgart_count_devices(cl_uint count);
cl_int fpgart_say_platform(cl_uint room, cl_platform_id *platforms, cl_uint *count);
int fpgart_early_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count, cl_int *status);
int fpgart_early_platform_info(cl_platform_id platform, cl_platform_info query, size_t size,
                               void *value, size_t *size_ret, cl_int *status);
int fpgart_early_device_count(cl_platform_id platform, cl_device_type type, cl_uint room,
                              cl_device_id *devices, cl_uint *count, cl_int *status);
