/* SPDX-License-Identifier: Apache-2.0
 *
 * Up to Python 3.12, a thread that waits for the interpreter's lock requests it from threads of
 * its own interpreter only, although all interpreters share the lock. So a host that computes
 * would block the driver's threads until it waits for something, and the other way round.
 * Therefore each of the two interpreters has a switcher, a thread that takes the lock briefly from
 * time to time, so that waiting threads get it. The switchers sleep when there was no call for a
 * while and nothing runs. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "interpreter.h"

#if PY_VERSION_HEX < 0x030D0000

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define PAUSE_NS 2000000
#define ROUNDS_OF_PATIENCE 25 /* without a call, before fpgart_busy() */

static atomic_int awake;
static atomic_uint calls;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static int are_ready; /* switchers that have their states */

/* Makes a switcher's state. A thread that makes one after the end of Python crashes. */
static PyThreadState *state_in(void *interpreter)
{
    PyThreadState *state = PyThreadState_New(interpreter);
    pthread_mutex_lock(&mutex);
    are_ready++;
    pthread_cond_signal(&told);
    pthread_mutex_unlock(&mutex);
    return state;
}

static void wait_for_calls(void)
{
    pthread_mutex_lock(&mutex);
    while (!atomic_load(&awake))
        pthread_cond_wait(&wake, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void pause_and_switch(PyThreadState *state)
{
    static const struct timespec pause = {.tv_sec = 0, .tv_nsec = PAUSE_NS};
    nanosleep(&pause, NULL);
    if (!fpgart_running())
        return;
    PyEval_RestoreThread(state);
    PyEval_SaveThread();
}

static void *switcher_of_host(void *interpreter)
{
    PyThreadState *state = state_in(interpreter);
    while (state != NULL && fpgart_running()) {
        wait_for_calls();
        pause_and_switch(state);
    }
    return NULL;
}

static int anything_runs(void)
{
    struct fpgart_visit visit;
    if (!fpgart_running() || !fpgart_go_in(&visit))
        return 0;
    int busy = fpgart_busy();
    fpgart_go_out(&visit);
    return busy;
}

/* Sleeps unless there was a call. A call counts itself and then reads whether the switchers are
 * awake. The switcher first writes that it is not and then reads the count: one of the two sees
 * the other. */
static void sleep_unless_called(unsigned seen)
{
    pthread_mutex_lock(&mutex);
    atomic_store(&awake, 0);
    if (seen != atomic_load(&calls))
        atomic_store(&awake, 1);
    pthread_mutex_unlock(&mutex);
}

/* Also puts both switchers to sleep. */
static void *switcher_of_driver(void *interpreter)
{
    PyThreadState *state = state_in(interpreter);
    unsigned seen = atomic_load(&calls), quiet = 0;
    while (state != NULL && fpgart_running()) {
        wait_for_calls();
        pause_and_switch(state);
        quiet = seen == atomic_load(&calls) ? quiet + 1 : 0;
        seen = atomic_load(&calls);
        if (quiet < ROUNDS_OF_PATIENCE)
            continue;
        quiet = 0;
        if (!anything_runs())
            sleep_unless_called(seen);
    }
    return NULL;
}

void fpgart_start_switchers(void *driver, void *host)
{
    int made = fpgart_start_thread(switcher_of_driver, driver) +
               fpgart_start_thread(switcher_of_host, host);
    pthread_mutex_lock(&mutex);
    while (are_ready < made) /* the host may end right after its first call */
        pthread_cond_wait(&told, &mutex);
    pthread_mutex_unlock(&mutex);
}

void fpgart_wake_switchers(void)
{
    atomic_fetch_add(&calls, 1);
    if (atomic_load(&awake))
        return;
    pthread_mutex_lock(&mutex);
    atomic_store(&awake, 1);
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&mutex);
}

#else /* Python requests the lock from its holder in any interpreter */

void fpgart_start_switchers(void *driver, void *host)
{
}

void fpgart_wake_switchers(void)
{
}

#endif
