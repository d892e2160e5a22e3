/* SPDX-License-Identifier: Apache-2.0
 *
 * Up to Python 3.12, a thread that waits for the interpreter's lock asks those of its own
 * interpreter to give it up, although all interpreters share the lock: a host that computes would
 * keep the driver's threads out until it waits for something, and the other way round. So each of
 * the two interpreters has an usher, a thread that takes the lock now and then and gives it to
 * whoever waits. They sleep when no call was made for a while and nothing runs. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "interpreter.h"

#if PY_VERSION_HEX < 0x030D0000

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define PAUSE_NS 2000000
#define ROUNDS_OF_PATIENCE 25 /* without a call, before it is asked whether anything runs */

static atomic_int awake;
static atomic_uint calls;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

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

static void *usher_of_host(void *interpreter)
{
    PyThreadState *state = PyThreadState_New(interpreter);
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

/* A call counts itself, then looks whether the ushers are awake. So they first say that they are
 * not, then look whether there was a call: one of the two sees the other. */
static void sleep_unless_called(unsigned seen)
{
    pthread_mutex_lock(&mutex);
    atomic_store(&awake, 0);
    if (seen != atomic_load(&calls))
        atomic_store(&awake, 1);
    pthread_mutex_unlock(&mutex);
}

/* Also decides when both sleep. */
static void *usher_of_driver(void *interpreter)
{
    PyThreadState *state = PyThreadState_New(interpreter);
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

static void start(void *(*usher)(void *), void *interpreter)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the host's signals are for its own threads */
    if (pthread_create(&thread, NULL, usher, interpreter) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void fpgart_start_ushers(void *driver, void *host)
{
    start(usher_of_driver, driver);
    start(usher_of_host, host);
}

void fpgart_wake_ushers(void)
{
    atomic_fetch_add(&calls, 1);
    if (atomic_load(&awake))
        return;
    pthread_mutex_lock(&mutex);
    atomic_store(&awake, 1);
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&mutex);
}

#else /* Python asks the thread that has the lock, whichever interpreter that is in */

void fpgart_start_ushers(void *driver, void *host)
{
}

void fpgart_wake_ushers(void)
{
}

#endif
