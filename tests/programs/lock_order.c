/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded by tests/lock_order.py: checks the order in which threads take the driver's locks in
 * C, and appends what it finds to the file $LOCK_ORDER_FOUND, a line each.
 *
 * A lock that is a variable of the driver's is known by its address, any other by the function
 * that takes it: the locks that a source file takes in structures are of one row. Behind
 * libfpgart-yield.so (`fpgart run`) only the former are known. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <link.h>

#define DEPTH 16
#define UNRANKED (-1)

/* A static lock, or a function that takes locks in structures; rank: 0 is the highest row. */
static const struct row {
    const char *library;
    uintptr_t begin, end;
    int rank;
    const char *lock;
} rows[] = {
#include "lock_rows.h"
};

struct place {
    const char *library;
    uintptr_t offset;
};

static _Thread_local struct held {
    const void *lock;
    const struct row *row;
    struct place taken;
} held[DEPTH];
static _Thread_local int count;

static struct place place_of(const void *address)
{
    struct dl_find_object found;
    if (_dl_find_object((void *)address, &found) != 0)
        return (struct place){"", 0};
    const struct link_map *library = found.dlfo_link_map;
    const char *path = library->l_name[0] != 0 ? library->l_name : program_invocation_name;
    const char *slash = strrchr(path, '/');
    return (struct place){slash != NULL ? slash + 1 : path, (uintptr_t)address - library->l_addr};
}

static int has_rows(const char *library)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].library, library) == 0)
            return 1;
    return 0;
}

static const struct row *row_at(struct place place)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (place.offset >= rows[i].begin && place.offset < rows[i].end &&
            strcmp(rows[i].library, place.library) == 0)
            return &rows[i];
    return NULL;
}

/* Writes a line, once for each place and lock that is held. */
static void report(const char *who, const char *what, struct place place, const struct held *other)
{
    static atomic_char reported[4096];
    char line[600];
    uintptr_t held_there = other != NULL ? other->taken.offset : 0;
    const char *file = getenv("LOCK_ORDER_FOUND");
    if (file == NULL || atomic_exchange(&reported[(place.offset * 31 + held_there) % 4096], 1) != 0)
        return;
    int length = snprintf(line, sizeof line, "%s %s at %s+%#jx", who, what, place.library,
                          (uintmax_t)place.offset);
    if (other != NULL)
        length +=
            snprintf(line + length, sizeof line - length, " while %s is held, taken at %s+%#jx",
                     other->row->lock, other->taken.library, (uintmax_t)held_there);
    int descriptor = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    line[length++] = '\n';
    if (write(descriptor, line, length) != length) /* a line of another process is not within it */
        abort();
    close(descriptor);
}

static void report_held(const char *what, const void *caller, const void *but)
{
    for (int i = 0; i < count; i++)
        if (held[i].lock != but)
            report("a thread", what, place_of(caller), &held[i]);
}

static const struct row *about_to_take(const void *lock, const void *caller)
{
    struct place taken = place_of(caller), place = place_of(lock);
    if (!has_rows(place.library))
        place = taken;
    if (!has_rows(place.library))
        return NULL;
    const struct row *row = row_at(place);
    if (row == NULL)
        report("a lock without a row", "is taken", taken, NULL);
    if (row == NULL || row->rank == UNRANKED)
        return NULL;
    for (int i = 0; i < count; i++)
        if (held[i].row->rank >= row->rank)
            report(row->lock, "is taken", taken, &held[i]);
    return row;
}

static void taken(const void *lock, const struct row *row, const void *caller)
{
    if (row == NULL)
        return;
    if (count == DEPTH)
        abort();
    held[count++] = (struct held){lock, row, place_of(caller)};
}

static void released(const void *lock)
{
    int i = count;
    while (i > 0 && held[i - 1].lock != lock)
        i--;
    if (i == 0)
        return;
    memmove(&held[i - 1], &held[i], (size_t)(count - i) * sizeof *held);
    count--;
}

static void next(void *function, const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(function, &symbol, sizeof symbol);
}

#define TAKES(name, type)                                                                          \
    int name(type *lock)                                                                           \
    {                                                                                              \
        static int (*real)(type *);                                                                \
        const void *caller = __builtin_return_address(0);                                          \
        if (real == NULL)                                                                          \
            next(&real, #name);                                                                    \
        const struct row *row = about_to_take(lock, caller);                                       \
        int status = real(lock);                                                                   \
        if (status == 0 || status == EOWNERDEAD)                                                   \
            taken(lock, row, caller);                                                              \
        return status;                                                                             \
    }

#define RELEASES(name, type)                                                                       \
    int name(type *lock)                                                                           \
    {                                                                                              \
        static int (*real)(type *);                                                                \
        if (real == NULL)                                                                          \
            next(&real, #name);                                                                    \
        released(lock);                                                                            \
        return real(lock);                                                                         \
    }

TAKES(pthread_mutex_lock, pthread_mutex_t)
TAKES(pthread_mutex_trylock, pthread_mutex_t)
RELEASES(pthread_mutex_unlock, pthread_mutex_t)
TAKES(pthread_rwlock_rdlock, pthread_rwlock_t)
TAKES(pthread_rwlock_wrlock, pthread_rwlock_t)
RELEASES(pthread_rwlock_unlock, pthread_rwlock_t)

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    static int (*real)(pthread_cond_t *, pthread_mutex_t *);
    if (real == NULL) { /* the unversioned name can be the function of LinuxThreads */
        void *symbol = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
        if (symbol == NULL)
            symbol = dlsym(RTLD_NEXT, "pthread_cond_wait");
        memcpy(&real, &symbol, sizeof symbol);
    }
    report_held("waits for a condition", __builtin_return_address(0), mutex);
    return real(condition, mutex);
}

long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long words[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    if (real == NULL)
        next(&real, "syscall");
    if (number == SYS_futex && (words[1] & FUTEX_CMD_MASK) == FUTEX_WAIT)
        report_held("sleeps", __builtin_return_address(0), NULL);
    return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* By these, C waits for the interpreter's lock. */
void PyEval_RestoreThread(void *state)
{
    static void (*real)(void *);
    if (real == NULL)
        next(&real, "PyEval_RestoreThread");
    report_held("waits for the interpreter", __builtin_return_address(0), NULL);
    real(state);
}

int PyGILState_Ensure(void)
{
    static int (*real)(void);
    if (real == NULL)
        next(&real, "PyGILState_Ensure");
    report_held("waits for the interpreter", __builtin_return_address(0), NULL);
    return real();
}
