/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* Returns a checksum, which differs, with a probability of all but 2^-64, if the bytes do. `sum`
 * is that of the bytes before, 0 at first. */
uint64_t checksum(uint64_t sum, uintptr_t address, size_t size);
/* 1 if all pages of a range are mapped, with any protection. */
int is_mapped(uintptr_t address, size_t size);
/* Returns the offset of the first byte that is not `value`; `size` if there is none. */
size_t first_other(uintptr_t address, int value, size_t size);
/* cffi */
