/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>
/* Calls run(data) on a stack that has room for large private arrays of kernels; on the thread's
 * own stack without memory. */
int64_t on_wide_stack(int64_t (*run)(const void *data), const void *data);
/* cffi */
/* Between calls with 1 and 0, new threads without an explicit stack size have wide stacks: a
 * driver creates the threads that run kernels in this way. Nests. */
void stacks_widen(int begins);
/* cffi */
