/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the host's functions, one for each form that the API has. Functions that are written
 * in Python run in their own interpreter (fpgart_call_out). */
#include "callbacks.h"

#include "interpreter.h"

void fpgart_call_about_object(uintptr_t function, uintptr_t object, uintptr_t data)
{
    FPGART_OUTSIDE(((void (*)(uintptr_t, void *))function)(object, (void *)data));
}

static _Thread_local unsigned in_callbacks;

int fpgart_in_callback(void)
{
    return in_callbacks != 0;
}

void fpgart_call_about_event(uintptr_t function, uintptr_t event, cl_int status, uintptr_t data)
{
    in_callbacks++;
    FPGART_OUTSIDE(((void (*)(uintptr_t, cl_int, void *))function)(event, status, (void *)data));
    in_callbacks--;
}

void fpgart_call_to_free(uintptr_t function, uintptr_t queue, cl_uint count, uintptr_t *pointers,
                         uintptr_t data)
{
    FPGART_OUTSIDE(((void (*)(uintptr_t, cl_uint, uintptr_t *, void *))function)(
        queue, count, pointers, (void *)data));
}

void fpgart_call_about_error(uintptr_t function, const char *words, uintptr_t data)
{
    FPGART_OUTSIDE(((void (*)(const char *, const void *, size_t, void *))function)(words, NULL, 0,
                                                                                    (void *)data));
}

void fpgart_call_about_exception(uintptr_t function, cl_uint kind, uintptr_t data)
{
    FPGART_OUTSIDE(
        ((void (*)(cl_uint, const void *, size_t, void *))function)(kind, NULL, 0, (void *)data));
}

void fpgart_call_about_live_object(uintptr_t function, uintptr_t data, uintptr_t object,
                                   const char *type, cl_uint references)
{
    FPGART_OUTSIDE(((void (*)(void *, uintptr_t, const char *, cl_uint))function)(
        (void *)data, object, type, references));
}
