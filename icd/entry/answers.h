/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes answers and reads arguments for Python, which has addresses as integers. */
#pragma once

#include "for_python.h"

#include <CL/cl.h>

#include <stddef.h>
#include <stdint.h>

FOR_PYTHON cl_int fpgart_answer(uintptr_t value, size_t size, size_t *size_ret, const char *bytes,
                                size_t length);
FOR_PYTHON uint64_t fpgart_load(uintptr_t address, size_t size);
