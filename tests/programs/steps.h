/* Two threads of C code of the driver, one of which is interrupted by the other at a step.
 *
 * A step is an atomic operation or the taking of a lock. The sources are included behind this file.
 * interrupted_at(n, one, other) runs `one` on this thread; before its n-th step another thread runs
 * `other` until it ends, or waits for a lock that `one` has. Gives whether `one` has so many. */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static __thread int is_one;
static int steps_left;
static void (*meanwhile)(void);
static pthread_t other_thread;
static sem_t other_stands;

static void *run_other(void *nothing)
{
    meanwhile();
    sem_post(&other_stands);
    return nothing;
}

static void step(void)
{
    if (!is_one || steps_left-- != 0)
        return;
    if (pthread_create(&other_thread, NULL, run_other, NULL) != 0)
        abort();
    sem_wait(&other_stands);
}

static int take_mutex(pthread_mutex_t *mutex)
{
    step();
    if (is_one || pthread_mutex_trylock(mutex) != 0) {
        if (!is_one)
            sem_post(&other_stands);
        return pthread_mutex_lock(mutex);
    }
    return 0;
}

static int interrupted_at(int number, void (*one)(void), void (*other)(void))
{
    sem_init(&other_stands, 0, 0);
    steps_left = number;
    meanwhile = other;
    is_one = 1;
    one();
    is_one = 0;
    if (steps_left >= 0)
        return 0;
    pthread_join(other_thread, NULL);
    return 1;
}

#undef atomic_load
#undef atomic_store
#undef atomic_fetch_add
#undef atomic_fetch_sub
#define atomic_load(place) (step(), atomic_load_explicit(place, memory_order_seq_cst))
#define atomic_store(place, value)                                                                 \
    (step(), atomic_store_explicit(place, value, memory_order_seq_cst))
#define atomic_fetch_add(place, value)                                                             \
    (step(), atomic_fetch_add_explicit(place, value, memory_order_seq_cst))
#define atomic_fetch_sub(place, value)                                                             \
    (step(), atomic_fetch_sub_explicit(place, value, memory_order_seq_cst))
#define pthread_mutex_lock(mutex) take_mutex(mutex)
