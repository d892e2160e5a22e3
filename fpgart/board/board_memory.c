/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "board_memory.h"

#include <sys/mman.h>
#include <unistd.h>

void board_memory_count(struct board_memory *memory, uint32_t row, uint64_t calls, uint64_t bytes)
{
    __atomic_fetch_add(&memory->traffic[row].calls, calls, __ATOMIC_RELAXED);
    __atomic_fetch_add(&memory->traffic[row].bytes, bytes, __ATOMIC_RELAXED);
}

void board_memory_allocated(struct board_memory *memory, uint64_t size)
{
    uint64_t kept = __atomic_load_n(&memory->kept, __ATOMIC_RELAXED), left;
    do {
        left = kept > size ? kept - size : 0;
    } while (!__atomic_compare_exchange_n(&memory->kept, &kept, left, 1, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
}

int board_memory_keeps(struct board_memory *memory, uint64_t size)
{
    uint64_t kept = __atomic_load_n(&memory->kept, __ATOMIC_RELAXED);
    while (kept + size <= memory->most_kept)
        if (__atomic_compare_exchange_n(&memory->kept, &kept, kept + size, 1, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return 1;
    return 0;
}

void board_memory_discard(uintptr_t begin, uint64_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (begin + page - 1) / page * page, last = (begin + size) / page * page;
    if (first < last)
        madvise((void *)first, last - first, MADV_REMOVE);
}
