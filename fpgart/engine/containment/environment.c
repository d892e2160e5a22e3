/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment of the engine's driver. Variables set up a driver, but the environment belongs to
 * the host, which may read it in another thread while it changes, and which passes it to its
 * children. Therefore the environment stays as it is, and calls of getenv() and setenv() in the
 * driver's libraries lead to the functions here (redirect.c). A process without a host does not
 * need that. */
#define _GNU_SOURCE
#include "environment.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Variables are only added, and values never freed: callers of getenv() keep them. */
struct variable {
    struct variable *next;
    char *name;
    char *_Atomic value;
    atomic_int unless_set;
};

static struct variable *_Atomic variables;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct variable *find(const char *name)
{
    struct variable *variable = variables;
    while (variable != NULL && strcmp(variable->name, name) != 0)
        variable = variable->next;
    return variable;
}

static struct variable *add(const char *name)
{
    struct variable *made = calloc(1, sizeof *made);
    if (made == NULL || (made->name = strdup(name)) == NULL) {
        free(made);
        return NULL;
    }
    made->next = variables;
    variables = made;
    return made;
}

static atomic_int ours;

void environment_is_ours(void)
{
    ours = 1;
}

int environment_say(const char *name, const char *value, int unless_set)
{
    if (ours)
        return setenv(name, value, !unless_set) == 0;
    char *copy = strdup(value);
    pthread_mutex_lock(&lock);
    struct variable *variable = find(name);
    if (copy != NULL && variable == NULL)
        variable = add(name);
    int done = copy != NULL && variable != NULL;
    if (done) {
        variable->unless_set = unless_set;
        variable->value = copy;
    }
    pthread_mutex_unlock(&lock);
    if (!done)
        free(copy);
    return done;
}

void environment_forget(const char *name)
{
    struct variable *variable = find(name);
    if (variable != NULL)
        variable->value = NULL;
}

static atomic_int sealed;

void environment_seal(void)
{
    sealed = 1;
}

static char *of_process(const char *name)
{
    return sealed ? NULL : getenv(name);
}

static char *driver_getenv(const char *name)
{
    struct variable *variable = find(name);
    char *said = variable != NULL ? variable->value : NULL;
    char *own = said == NULL || variable->unless_set ? of_process(name) : NULL;
    return own != NULL ? own : said;
}

static int driver_setenv(const char *name, const char *value, int overwrite)
{
    if (!overwrite && driver_getenv(name) != NULL)
        return 0;
    return environment_say(name, value, 0) ? 0 : -1;
}

/* Checks the access to a file with the effective rights of this process. access() checks those
 * of the real user, and LLVM then refuses to write to files that it has made itself. */
static int driver_access(const char *path, int mode)
{
    return faccessat(AT_FDCWD, path, mode, AT_EACCESS);
}

uintptr_t environment_replacement(const char *symbol)
{
    if (ours)
        return 0;
    if (sealed && strcmp(symbol, "access") == 0)
        return (uintptr_t)driver_access;
    if (strcmp(symbol, "getenv") == 0 || strcmp(symbol, "secure_getenv") == 0)
        return (uintptr_t)driver_getenv;
    return strcmp(symbol, "setenv") == 0 ? (uintptr_t)driver_setenv : 0;
}
