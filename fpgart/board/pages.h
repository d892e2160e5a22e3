/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>
/* cffi */
/* Addresses are integers on the Python side; sizes are in bytes. Mapping functions return 0
 * on failure. memory_file() returns the descriptor of a file in memory, which no folder has
 * and execve() closes; -1 on failure. */
int memory_file(const char *name);
uintptr_t map_file(int descriptor, size_t size);
/* Maps a part of a file at an address; 0 if something else is mapped there. `huge`: with huge
 * pages, if the system has them for files in memory. */
uintptr_t map_part(int descriptor, uint64_t offset, uintptr_t address, size_t size, int huge);
/* Maps a part of a file once more, at an address that the system chooses. */
uintptr_t map_again(int descriptor, uint64_t offset, size_t size);
/* Removes all rights from mapped memory, so that accesses fault. 0 on success. */
int close_pages(uintptr_t address, size_t size);
/* Locks memory as its pages are accessed, so that it is not swapped out. 1 on success. */
int keep_in_memory(uintptr_t address, size_t size);
uintptr_t map_anonymous(size_t size);
/* Maps memory at an address; 0 if something else is mapped there. */
uintptr_t map_at(uintptr_t address, size_t size);
/* Maps memory as a board's driver does, with room for `size` bytes at a multiple of
 * `alignment`; pages exist from their first access. Memory of more than a page has the pages of
 * 2 MiB that the system has reserved, if there are any, else transparent ones. `size` becomes
 * the size of the mapping. `locked`: 1 if it will not be swapped out, which a limit may forbid. */
uintptr_t map_pinned(size_t *size, size_t alignment, int *locked);
/* Maps the same with small pages, for touched_pages(). A child's writes after fork() are its own.
 */
uintptr_t map_watched(size_t *size, size_t alignment, int *locked);
/* Makes memory of map_watched() count as not accessed. 0 on success. */
int forget_touches(uintptr_t address, size_t size);
/* Sets a byte to 1 for each page that was accessed since forget_touches(); a read may count
 * for up to 16 pages. Returns the number of pages, -1 if the system does not tell. */
long touched_pages(uintptr_t address, size_t pages, char *touched);
int unmap(uintptr_t address, size_t size);
/* Makes bytes of map_file() zeros, and frees the pages that have no others. 0 on success. */
int discard(uintptr_t address, size_t size);
int punch(int descriptor, uint64_t offset, uint64_t size);
/* cffi */
