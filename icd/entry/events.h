/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's calls about events and queues that C answers; 0 leaves a call to Python. */
#pragma once

#include "for_python.h"

#include <CL/cl.h>

#include <stddef.h>
#include <stdint.h>

int fpgart_finishes(const void *queue);
int fpgart_flushes(const void *queue);
int fpgart_waits_for(cl_uint count, const cl_event *events);
int fpgart_says_event(const void *event, cl_event_info query, size_t size, void *value,
                      size_t *size_ret);
int fpgart_says_times(const void *event, cl_profiling_info query, size_t size, void *value,
                      size_t *size_ret);
int fpgart_calls_back(const void *event, cl_int status,
                      void(CL_CALLBACK *call)(cl_event, cl_int, void *), void *data);
void *fpgart_new_user_event(const void *context); /* NULL: left to Python */
int fpgart_sets_user_event(const void *event, cl_int status);
/* For Python: registers a callback for a view. */
FOR_PYTHON int fpgart_view_calls_back(uintptr_t event, cl_int status, uintptr_t call,
                                      uintptr_t data);
