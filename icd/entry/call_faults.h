/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults of API calls: each entry point asks first, before C answers anything. `object`: the
 * call's first argument if that is a pointer. */
#pragma once

#include "for_python.h"

#include <CL/cl.h>

#include <stdatomic.h>
#include <stdint.h>

extern atomic_int fpgart_asks_about_calls;
AT_ONCE void fpgart_ask_about_calls(int flag);
int fpgart_call_fails(const char *name, uintptr_t object, cl_int *status);

/* A call into Python: returns the status with which a call of the host fails, 0 if it does
 * not. Threads are numbered in the order of their first calls. */
OF_PYTHON cl_int fpgart_fault_of_call(const char *name, uintptr_t object, uint32_t thread);
