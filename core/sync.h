/* SPDX-License-Identifier: Apache-2.0
 *
 * The lock of the core, and words on which threads sleep. With CORE_EXPLORED a test supplies
 * these functions and chooses at each of them the thread that goes on. */
#ifndef CORE_SYNC_H
#define CORE_SYNC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef CORE_EXPLORED

void core_lock(void);
void core_unlock(void);
void core_sleep(_Atomic uint32_t *word, uint32_t seen);
void core_wake(_Atomic uint32_t *word);
void core_pause(void);
bool *core_explored_ending(void);
#define core_is_ending (*core_explored_ending())
bool *core_explored_serving(void);
#define core_is_serving (*core_explored_serving())
bool *core_explored_taking(void);
#define core_is_taking (*core_explored_taking())

#else

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

extern pthread_mutex_t core_mutex;
/* True on a thread that is in the engine's ended() or in a call of the observing thread; that
 * is in core_serve(); that is a caller's and takes afterwards what is ready. */
extern _Thread_local bool core_is_ending, core_is_serving, core_is_taking;

static inline void core_lock(void)
{
    pthread_mutex_lock(&core_mutex);
}

static inline void core_unlock(void)
{
    pthread_mutex_unlock(&core_mutex);
}

/* Sleeps while `word` is `seen`; it may return earlier. */
static inline void core_sleep(_Atomic uint32_t *word, uint32_t seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static inline void core_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static inline void core_pause(void)
{
}

#endif
#endif
