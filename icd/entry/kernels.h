/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of a program that C has made. */
#pragma once

#include "for_python.h"
#include "handles.h"
#include "remembered.h"

#include <stdint.h>

/* For a kernel that Python has made, which may have arguments; Python passes these on. Returns the
 * address of a word that is not 0 while Python has not got all that C has set. */
AT_ONCE uint64_t *fpgart_arguments_new(uintptr_t kernel, uint32_t count, uintptr_t program,
                                       const char *name);
/* These return NULL, or 0, to leave the call to Python. */
cl_kernel fpgart_makes_kernel(const void *program, const char *name);
cl_kernel fpgart_clones_kernel(const void *kernel);
int fpgart_makes_kernels(const void *program, cl_uint room, cl_kernel *made, cl_uint *count);
AT_ONCE void fpgart_kernels_are(uintptr_t program, uint32_t count, const uintptr_t *handles);
/* Answers about a build, which are kept until the next one begins. */
AT_ONCE void fpgart_remember_build(uintptr_t program, uint32_t part_kind, uintptr_t part_number,
                                   cl_uint query, const char *bytes, size_t length);
int fpgart_knows_build(const void *program, struct fpgart_part part, cl_uint query, size_t size,
                       void *value, size_t *size_ret);
void fpgart_kernels_free(fpgart_kernels_slot *slot);
void fpgart_kernel_goes(uintptr_t program);
AT_ONCE int fpgart_kernels_end(uintptr_t program);
