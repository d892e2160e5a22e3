/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* Addresses are integers on the Python side; sizes are in bytes. */
void copy_bytes(uintptr_t destination, uintptr_t source, size_t size);
/* Does the same as copy_bytes(), from memory that may end before. Returns 0 if it does; the
 * destination is undefined then. */
int copy_if_readable(uintptr_t destination, uintptr_t source, size_t size);
void fill_bytes(uintptr_t destination, const char *pattern, size_t pattern_size, size_t size);
/* cffi */
