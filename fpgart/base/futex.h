/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that sleep on a word, also in memory that processes share. */
#pragma once
#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while the word is `seen`, up to `milliseconds` (0: no limit); it may return earlier.
 * Returns true if the thread has handled a signal. */
static inline bool futex_sleep(_Atomic uint32_t *word, uint32_t seen, uint32_t milliseconds)
{
    const struct timespec patience = {.tv_sec = milliseconds / 1000,
                                      .tv_nsec = milliseconds % 1000 * 1000000L};
    return syscall(SYS_futex, word, FUTEX_WAIT, seen, milliseconds > 0 ? &patience : NULL, NULL,
                   0) != 0 &&
           errno == EINTR;
}

/* Wakes all threads that sleep on the word. */
static inline void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
