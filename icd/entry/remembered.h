/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers that Python has given once and that cannot change. `kind`: that of the object in
 * question. */
#pragma once

#include "for_python.h"
#include "handles.h"

#include <stddef.h>

/* What an answer is about: the whole object, an argument of it by index, a device by handle, which
 * may be NULL, or a type of devices. */
FOR_PYTHON enum { FPGART_WHOLE, FPGART_ARGUMENT, FPGART_ON_DEVICE, FPGART_OF_TYPE };
struct fpgart_part {
    uint32_t kind;
    uintptr_t number;
};
#define FPGART_ALL ((struct fpgart_part){FPGART_WHOLE, 0})

/* Answers that are not kept with a handle (kernels.c, allocations.c). */
void fpgart_add_answer(fpgart_answers *answers, struct fpgart_part part, cl_uint query,
                       const char *bytes, size_t length);
int fpgart_has_answer(fpgart_answers *answers, struct fpgart_part part, cl_uint query, size_t size,
                      void *value, size_t *size_ret);
void fpgart_forget(fpgart_answers *answers);
AT_ONCE void fpgart_remember(uintptr_t handle, uint32_t part_kind, uintptr_t part_number,
                             cl_uint query, const char *bytes, size_t length);
/* Also answers queries for the counts of references and mappings. */
int fpgart_knows(const void *object, int kind, cl_uint query, size_t size, void *value,
                 size_t *size_ret);
int fpgart_knows_part(const void *object, int kind, struct fpgart_part part, cl_uint query,
                      size_t size, void *value, size_t *size_ret);
int fpgart_knows_devices(const void *platform, cl_device_type type, cl_uint room,
                         cl_device_id *devices, cl_uint *count);
/* Returns 1 if an event is known to have succeeded; writes its context. */
int fpgart_knows_success(cl_event event, uintptr_t *context);
