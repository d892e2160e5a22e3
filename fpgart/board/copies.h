/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FPGART_COPIES_H
#define FPGART_COPIES_H
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* Addresses are integers on the Python side; sizes are in bytes. Mapping functions return 0 on
 * failure. */
void copy_bytes(uintptr_t destination, uintptr_t source, size_t size);
/* As copy_bytes(), from memory that may end before; 0 where it does, and nothing is said of the
 * destination then. */
int copy_if_readable(uintptr_t destination, uintptr_t source, size_t size);
void fill_bytes(uintptr_t destination, const char *pattern, size_t pattern_size, size_t size);
uintptr_t map_file(int descriptor, size_t size);
uintptr_t map_anonymous(size_t size);
/* At an address and nowhere else; 0 where something else is already. */
uintptr_t map_at(uintptr_t address, size_t size);
/* Memory as a board's driver gives it: of huge pages where the size is a multiple of 2 MiB and the
 * system has some, locked as far as the limit allows, never there before it is touched. 0 when
 * there is none. */
uintptr_t map_pinned(size_t size);
int unmap(uintptr_t address, size_t size);
int punch(int descriptor, uint64_t offset, uint64_t size);
/* cffi */
#endif
