/* SPDX-License-Identifier: Apache-2.0
 *
 * Checksums of memory, which show changes. Called through cffi, and so without the interpreter's
 * lock. */
#define _GNU_SOURCE
#include "contents.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PRIME 0x9E3779B97F4A7C15u /* 2^64 divided by the golden ratio, made odd */

static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * PRIME;
    return sum ^ sum >> 32;
}

/* Four sums in parallel keep the multiplier busy: this reads as fast as memory allows. */
uint64_t checksum(uint64_t sum, uintptr_t address, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)address;
    uint64_t sums[4] = {sum ^ size, sum + 1, sum + 2, sum + 3}, words[4];
    for (; size >= sizeof words; bytes += sizeof words, size -= sizeof words) {
        memcpy(words, bytes, sizeof words);
        for (int i = 0; i < 4; i++)
            sums[i] = mix(sums[i], words[i]);
    }
    memset(words, 0, sizeof words);
    memcpy(words, bytes, size);
    for (int i = 0; i < 4; i++)
        sum = mix(sum, mix(sums[i], words[i]));
    return sum;
}

int is_mapped(uintptr_t address, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = address & ~(page - 1);
    return msync((void *)begin, address + size - begin, MS_ASYNC) == 0;
}

size_t first_other(uintptr_t address, int value, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)address;
    if (size == 0 || (bytes[0] == (unsigned char)value && memcmp(bytes, bytes + 1, size - 1) == 0))
        return size; /* all bytes are the same: a fast answer */
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != (unsigned char)value)
            return i;
    return size;
}
