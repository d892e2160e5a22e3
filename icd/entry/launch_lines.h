/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of launches in a trace. */
#pragma once

#include "for_python.h"
#include "watched.h"

/* The bytes of a form at which numbers are filled in: the begin and the duration in
 * microseconds, the numbers of the operation and of the command, and that of the command as a
 * string of hexadecimal digits. */
enum { FPGART_BEGIN = 1, FPGART_DURATION, FPGART_OPERATION, FPGART_COMMAND, FPGART_ID };
FOR_PYTHON enum { FPGART_MOST_DIGITS = 24 }; /* no number is longer */

/* For Python: fills a form for each of several launches into `lines`, each followed by ",\n", and
 * returns the number of bytes. `zero`: the begin of the trace. The lines are those of calls if
 * `operations` is NULL, else those of the launches themselves, with these numbers. */
AT_ONCE size_t fpgart_fill_lines(const char *form, size_t size, uint64_t zero, uint32_t count,
                                 struct fpgart_launch *const *launches, const uint64_t *operations,
                                 char *lines);
