/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded by `fpgart run`: a thread that has to wait for a lock releases the lock of the
 * Python interpreter meanwhile.
 *
 * The driver is written in Python, and its interpreter shares its lock with the host's if the
 * host is written in Python, too. Libraries between the two, such as the SYCL runtime, call the
 * driver from threads of their own while they hold a lock, and wait for that lock in the host's
 * thread, which has the interpreter's: a deadlock. With drivers that need no interpreter that
 * works.
 *
 * Nothing changes for programs that are not Python, nor for threads without the interpreter's
 * lock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define PATIENCE_NS 10000000 /* waits up to 10 ms keep the interpreter's lock */

static void *(*state_that_runs)(void);
static void *(*state_of_thread)(void);
static void *(*give_up)(void);
static void (*take_back)(void *);
static int is_python;
static __thread int within __attribute__((tls_model("initial-exec")));

static void find(void *function, const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &symbol, sizeof symbol);
}

__attribute__((constructor)) static void look_for_python(void)
{
    find(&state_of_thread, "PyGILState_GetThisThreadState");
    find(&give_up, "PyEval_SaveThread");
    find(&take_back, "PyEval_RestoreThread");
    find(&state_that_runs, "_PyThreadState_UncheckedGet");
    if (state_that_runs == NULL)
        find(&state_that_runs, "PyThreadState_GetUnchecked"); /* since 3.13 */
    is_python =
        state_of_thread != NULL && give_up != NULL && take_back != NULL && state_that_runs != NULL;
}

/* Releases the interpreter's lock if this thread has it. Returns the argument of take(), or
 * NULL. */
static void *yield(void)
{
    void *state = NULL;
    if (!is_python || within)
        return NULL;
    within = 1;                     /* the interpreter uses these functions, too */
    void *mine = state_of_thread(); /* PyGILState_Check() always returns 1 with sub-interpreters */
    if (mine != NULL && mine == state_that_runs())
        state = give_up();
    within = 0;
    return state;
}

static void take(void *state)
{
    if (state == NULL)
        return;
    within = 1;
    take_back(state);
    within = 0;
}

static void soon(struct timespec *when)
{
    clock_gettime(CLOCK_REALTIME, when);
    when->tv_nsec += PATIENCE_NS;
    if (when->tv_nsec >= 1000000000) {
        when->tv_sec++;
        when->tv_nsec -= 1000000000;
    }
}

static void next(void *function, const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(function, &symbol, sizeof symbol);
}

/* Defines `name`, which locks `type`: at once, within PATIENCE_NS, or without the
 * interpreter's lock. */
#define LOCK(name, type, try, timed)                                                               \
    int name(type *lock)                                                                           \
    {                                                                                              \
        static int (*real)(type *);                                                                \
        struct timespec limit;                                                                     \
        if (real == NULL)                                                                          \
            next(&real, #name);                                                                    \
        if (!is_python || within)                                                                  \
            return real(lock);                                                                     \
        int status = try(lock);                                                                    \
        if (status != EBUSY)                                                                       \
            return status;                                                                         \
        soon(&limit);                                                                              \
        status = timed(lock, &limit);                                                              \
        if (status != ETIMEDOUT)                                                                   \
            return status;                                                                         \
        void *state = yield();                                                                     \
        status = real(lock);                                                                       \
        take(state);                                                                               \
        return status;                                                                             \
    }

LOCK(pthread_mutex_lock, pthread_mutex_t, pthread_mutex_trylock, pthread_mutex_timedlock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t, pthread_rwlock_trywrlock, pthread_rwlock_timedwrlock)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t, pthread_rwlock_tryrdlock, pthread_rwlock_timedrdlock)

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    static int (*real)(pthread_cond_t *, pthread_mutex_t *);
    if (real == NULL) { /* the unversioned name can be the function of LinuxThreads */
        void *symbol = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
        if (symbol == NULL)
            symbol = dlsym(RTLD_NEXT, "pthread_cond_wait");
        memcpy(&real, &symbol, sizeof symbol);
    }
    void *state = yield();
    int status = real(condition, mutex);
    take(state);
    return status;
}
