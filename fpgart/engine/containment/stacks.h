/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FPGART_STACKS_H
#define FPGART_STACKS_H
#include <stdint.h>
/* Calls run(data) with room for large private arrays of kernels on the stack; on the thread's own
 * stack if there is no memory for that. */
int64_t on_wide_stack(int64_t (*run)(const void *data), const void *data);
/* cffi */
/* From 1 to 0, new threads whose creator does not say how large their stacks are have wide ones:
 * a driver makes the threads that run kernels so. Nests. */
void stacks_widen(int begins);
/* cffi */
#endif
