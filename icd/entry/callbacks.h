/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the host's functions. */
#pragma once

#include "for_python.h"

#include <CL/cl.h>

#include <stdint.h>

int fpgart_in_callback(void);
FOR_PYTHON void fpgart_call_about_object(uintptr_t function, uintptr_t object, uintptr_t data);
FOR_PYTHON void fpgart_call_about_event(uintptr_t function, uintptr_t event, cl_int status,
                                        uintptr_t data);
FOR_PYTHON void fpgart_call_to_free(uintptr_t function, uintptr_t queue, cl_uint count,
                                    uintptr_t *pointers, uintptr_t data);
FOR_PYTHON void fpgart_call_about_error(uintptr_t function, const char *words, uintptr_t data);
FOR_PYTHON void fpgart_call_about_exception(uintptr_t function, cl_uint kind, uintptr_t data);
FOR_PYTHON void fpgart_call_about_live_object(uintptr_t function, uintptr_t data, uintptr_t object,
                                              const char *type, cl_uint references);
