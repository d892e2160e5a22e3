/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeping the host's signal handlers while a driver and its compiler work. Handlers that somebody
 * else installed meanwhile (the host, on another thread) are left alone. */
#define _GNU_SOURCE
#include "signals.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SIGNALS 32
#define COMPILER "libLLVM" /* a library of its own where distributions split drivers up */

static struct sigaction remembered[SIGNALS];
static int working;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void signals_remember(void)
{
    pthread_mutex_lock(&lock);
    if (working++ == 0)
        for (int i = 1; i < SIGNALS; i++)
            sigaction(i, NULL, &remembered[i]);
    pthread_mutex_unlock(&lock);
}

static int leads_into(const struct sigaction *action, const char *path)
{
    Dl_info info;
    void *address = NULL;
    if (action->sa_flags & SA_SIGINFO)
        memcpy(&address, &action->sa_sigaction, sizeof address);
    else
        memcpy(&address, &action->sa_handler, sizeof address);
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL)
        return 0;
    const char *slash = strrchr(info.dli_fname, '/');
    if (strncmp(slash != NULL ? slash + 1 : info.dli_fname, COMPILER, sizeof COMPILER - 1) == 0)
        return 1;
    char *one = realpath(info.dli_fname, NULL), *other = realpath(path, NULL);
    int same = one != NULL && other != NULL && strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

void signals_give_back(const char *path)
{
    pthread_mutex_lock(&lock);
    working--;
    for (int i = 1; i < SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(i, NULL, &now) == 0 && leads_into(&now, path))
            sigaction(i, &remembered[i], NULL);
    }
    pthread_mutex_unlock(&lock);
}
