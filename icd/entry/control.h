/* SPDX-License-Identifier: Apache-2.0
 *
 * The entry point for the host's Python. fpgart_text() returns a copy, which the caller frees. */
#pragma once

#include "for_python.h"

#include <stddef.h>

FOR_PYTHON char *fpgart_text(const char *words);
int fpgart_control_runs(void);
char *fpgart_control(const char *request, size_t length);
void fpgart_control_read(char *answer);

/* A call into Python for fpgart_control(): returns JSON, which the caller frees. */
OF_PYTHON char *fpgart_control_request(const char *request, size_t length);
