/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers that Python has given once and that cannot change. `kind`: that of the object in
 * question. */
#ifndef FPGART_REMEMBERED_H
#define FPGART_REMEMBERED_H

#include "for_python.h"
#include "handles.h"

#include <stddef.h>

void fpgart_forget(fpgart_answers *answers);
AT_ONCE void fpgart_remember(uintptr_t handle, cl_uint query, const char *bytes, size_t length);
int fpgart_knows(const void *object, int kind, cl_uint query, size_t size, void *value,
                 size_t *size_ret);
int fpgart_knows_ends(cl_uint count, const cl_event *events);

#endif
