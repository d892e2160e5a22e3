/* SPDX-License-Identifier: Apache-2.0
 *
 * The lock of the core, and words on which threads sleep. With CORE_EXPLORED a test supplies
 * the lock and the system call, and chooses at each of them the thread that goes on. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef CORE_EXPLORED

void core_lock(void);
void core_unlock(void);
void core_futex_wait(_Atomic uint32_t *value, uint32_t seen);
void core_futex_wake(_Atomic uint32_t *value);
void core_pause(void);
static inline void core_yield(void)
{
    core_pause();
}
bool *core_explored_ending(void);
#define core_is_ending (*core_explored_ending())
bool *core_explored_serving(void);
#define core_is_serving (*core_explored_serving())
bool *core_explored_taking(void);
#define core_is_taking (*core_explored_taking())
unsigned *core_explored_depth(void);
#define core_depth (*core_explored_depth())

#else

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

extern pthread_mutex_t core_mutex;
/* True on a thread that is in the engine's ended(), in core_observe(), or notes ends in
 * core_serve(); that is in core_serve(); that is a caller's and takes afterwards what is ready. */
extern _Thread_local bool core_is_ending, core_is_serving, core_is_taking;
extern _Thread_local unsigned core_depth; /* in so many callbacks within each other */

static inline void core_lock(void)
{
    pthread_mutex_lock(&core_mutex);
}

static inline void core_unlock(void)
{
    pthread_mutex_unlock(&core_mutex);
}

static inline void core_futex_wait(_Atomic uint32_t *value, uint32_t seen)
{
    syscall(SYS_futex, value, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static inline void core_futex_wake(_Atomic uint32_t *value)
{
    syscall(SYS_futex, value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static inline void core_pause(void)
{
}

static inline void core_yield(void)
{
    sched_yield();
}

#endif

/* A number on which threads sleep. Who changes it calls core_wake() afterwards. */
struct core_word {
    _Atomic uint32_t value;
    _Atomic uint32_t sleepers; /* without one, core_wake() makes no system call */
};

/* Sleeps while the value is `seen`; it may return earlier. Read the value first, and then what the
 * sleep is for: a change between the two changes the value, and so there is no sleep. */
static inline void core_sleep(struct core_word *word, uint32_t seen)
{
    atomic_fetch_add(&word->sleepers, 1);
    core_futex_wait(&word->value, seen);
    atomic_fetch_sub(&word->sleepers, 1);
}

/* Sleeps like core_sleep(), but lets other threads run first. A thread that works off a list
 * calls it: while others add to the list all the time, none of them has to wake it. A thread
 * that waits for one command does not: on a busy machine it would run again later. */
static inline void core_rest(struct core_word *word, uint32_t seen)
{
    core_yield();
    if (atomic_load(&word->value) == seen)
        core_sleep(word, seen);
}

static inline void core_wake(struct core_word *word)
{
    core_pause();
    if (atomic_load(&word->sleepers) != 0)
        core_futex_wake(&word->value);
}
