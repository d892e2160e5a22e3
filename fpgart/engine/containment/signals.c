/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeping the host's signal handlers while a driver and its compiler work. Handlers that somebody
 * else installed meanwhile (the host, on another thread) are left alone. */
#define _GNU_SOURCE
#include "signals.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SIGNALS 32
#define COMPILER "libLLVM" /* a separate library in some distributions */

static struct sigaction remembered[SIGNALS];
static int working;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* In kernels, integer division by zero raises no exception (OpenCL C, 6.3.a). Processors that
 * trap need the engine's handler for that; it is installed while kernels run. */
static struct sigaction engines_trap, hosts_trap;
static int kernels, has_trap;

void signals_remember(void)
{
    pthread_mutex_lock(&lock);
    if (working++ == 0)
        for (int i = 1; i < SIGNALS; i++)
            sigaction(i, NULL, &remembered[i]);
    if (working == 1 && kernels > 0)
        remembered[SIGFPE] = hosts_trap;
    pthread_mutex_unlock(&lock);
}

/* While kernels run, an integer division that traps is attributed to them; all other signals are
 * the host's. */
static void trap(int number, siginfo_t *info, void *context)
{
    if (info->si_code == FPE_INTDIV || info->si_code == FPE_INTOVF)
        engines_trap.sa_sigaction(number, info, context);
    else if (hosts_trap.sa_flags & SA_SIGINFO)
        hosts_trap.sa_sigaction(number, info, context);
    else if (hosts_trap.sa_handler == SIG_DFL || hosts_trap.sa_handler == SIG_IGN)
        signal(number, SIG_DFL); /* the instruction is repeated, and ends the process */
    else
        hosts_trap.sa_handler(number);
}

static int is_trap(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == trap;
}

static void put_trap(void)
{
    struct sigaction ours = {.sa_sigaction = trap,
                             .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigaction(SIGFPE, &ours, NULL);
}

void signals_kernel_begins(void)
{
    pthread_mutex_lock(&lock);
    if (kernels++ == 0 && has_trap) {
        if (working > 0)
            hosts_trap = remembered[SIGFPE];
        else
            sigaction(SIGFPE, NULL, &hosts_trap);
        put_trap();
    }
    pthread_mutex_unlock(&lock);
}

void signals_kernel_ends(void)
{
    struct sigaction now;
    pthread_mutex_lock(&lock);
    if (--kernels == 0 && has_trap && sigaction(SIGFPE, NULL, &now) == 0 && is_trap(&now))
        sigaction(SIGFPE, &hosts_trap, NULL);
    pthread_mutex_unlock(&lock);
}

static const void *handler_of(const struct sigaction *action)
{
    const void *address = NULL;
    if (action->sa_flags & SA_SIGINFO)
        memcpy(&address, &action->sa_sigaction, sizeof address);
    else
        memcpy(&address, &action->sa_handler, sizeof address);
    return address;
}

static int is_compilers(const char *library)
{
    const char *slash = library != NULL ? strrchr(library, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : library;
    return name != NULL && strncmp(name, COMPILER, sizeof COMPILER - 1) == 0;
}

static int is_drivers(const char *library, const char *path)
{
    char *one = library != NULL ? realpath(library, NULL) : NULL, *other = realpath(path, NULL);
    int same = one != NULL && other != NULL && strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

static int is_same(const struct sigaction *one, const struct sigaction *other)
{
    return one->sa_flags == other->sa_flags && handler_of(one) == handler_of(other);
}

/* A handler, and whether the driver at a path or its compiler installed it. */
struct handler {
    const void *address;
    int of_driver, of_compiler;
};

/* Takes a millisecond in libraries as large as compilers. */
static struct handler look_up(const void *address, const char *path)
{
    Dl_info info;
    const char *library = dladdr(address, &info) != 0 ? info.dli_fname : NULL;
    return (struct handler){address, is_drivers(library, path), is_compilers(library)};
}

void signals_give_back(const char *path)
{
    struct handler last = {0}; /* a compiler has one handler for many signals */
    pthread_mutex_lock(&lock);
    working--;
    for (int i = 1; i < SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(i, NULL, &now) != 0 || is_same(&now, &remembered[i]))
            continue;
        if (handler_of(&now) != last.address)
            last = look_up(handler_of(&now), path);
        if (!last.of_driver && !last.of_compiler)
            continue;
        if (i == SIGFPE && !has_trap && (now.sa_flags & SA_SIGINFO) && last.of_driver) {
            engines_trap = now;
            has_trap = 1;
        }
        if (i == SIGFPE && has_trap && kernels > 0)
            put_trap();
        else
            sigaction(i, &remembered[i], NULL);
    }
    pthread_mutex_unlock(&lock);
}
