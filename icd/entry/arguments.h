/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of a kernel (arguments.c), and the facts about all kernels of that name: the
 * pattern, with which new ones begin. Both are reference-counted. */
#ifndef FPGART_ARGUMENTS_H
#define FPGART_ARGUMENTS_H

#include "carried.h"

struct fpgart_arguments *fpgart_pattern_new(uint32_t count, const char *name);
const char *fpgart_pattern_name(const struct fpgart_arguments *pattern);
/* Returns the arguments of a new kernel, of which none is set. NULL without memory. */
struct fpgart_arguments *fpgart_arguments_like(struct fpgart_arguments *pattern);
void fpgart_arguments_retain(struct fpgart_arguments *arguments);
void fpgart_arguments_release(struct fpgart_arguments *arguments);

/* Returns the pattern of a program's kernels of that name. The first call makes it. The
 * caller gets a reference (kernels.c). */
struct fpgart_arguments *fpgart_pattern_of(uintptr_t program, uint32_t count, const char *name);

#endif
