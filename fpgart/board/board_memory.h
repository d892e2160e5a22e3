/* SPDX-License-Identifier: Apache-2.0
 *
 * The counters of a simulated board that Python and C share. */
#pragma once
#include "for_python.h"

#include <stdint.h>
/* cffi */
/* Calls that move bytes, and the bytes. */
struct board_traffic {
    uint64_t calls;
    uint64_t bytes;
};
enum { WRITTEN, READ, COPIED, PROGRAMMED, BOARD_ROWS };
struct board_memory {
    struct board_traffic traffic[BOARD_ROWS]; /* made by C */
    uint64_t kept; /* bytes of freed ranges whose pages the board keeps */
    uint64_t most_kept;
};
void board_memory_count(struct board_memory *memory, uint32_t row, uint64_t calls, uint64_t bytes);
/* Counts `size` bytes that were allocated. Their range may have pages that were kept. */
AT_ONCE void board_memory_allocated(struct board_memory *memory, uint64_t size);
/* Counts the bytes of a range that is about to be freed. Returns 0, without counting them, if the
 * board keeps too many already: board_memory_discard() then returns the whole pages of the range,
 * which is mapped at `begin`, to the system. */
AT_ONCE int board_memory_keeps(struct board_memory *memory, uint64_t size);
void board_memory_discard(uintptr_t begin, uint64_t size);
/* cffi */
