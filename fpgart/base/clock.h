/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>
#include <time.h>

/* Return nanoseconds and milliseconds of the monotonic clock. */
static inline uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t now_ms(void)
{
    return now_ns() / 1000000;
}
