/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FPGART_CONTENTS_H
#define FPGART_CONTENTS_H
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* A number that differs, but for one chance in 2^64, when the bytes do. `sum` is that of what came
 * before, 0 at first. */
uint64_t checksum(uint64_t sum, uintptr_t address, size_t size);
/* Whether all pages of a range are mapped; says nothing of their protection. */
int is_mapped(uintptr_t address, size_t size);
/* Where the first byte that is not `value` lies; `size` if there is none. */
size_t first_other(uintptr_t address, int value, size_t size);
/* cffi */
#endif
