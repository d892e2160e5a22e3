/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "apart.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_DESCRIPTORS = 8,
    ABOVE = MOST_DESCRIPTORS, /* numbers of descriptors while they are put in order */
    STACK_BYTES = 256 << 10,
};

struct program {
    const char *path;
    char *const *arguments;
    char *const *environment;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error;
};

/* Runs in an intermediate process, which shares the host's memory until it ends at once: the
 * program is its child, not the host's. */
static int start(void *data)
{
    struct program *program = data;
    pid_t started;
    program->error = posix_spawn(&started, program->path, &program->actions, &program->attributes,
                                 program->arguments, program->environment);
    _exit(0);
}

static int start_in_between(struct program *program)
{
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return errno;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    /* Its end raises no signal, and wait() does not find it without __WALL. */
    pid_t between = clone(start, (char *)stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, program);
    int error = between < 0 ? errno : program->error;
    while (between > 0 && waitpid(between, NULL, __WALL) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stack, STACK_BYTES);
    return error;
}

static int prepare(struct program *program, const int *kept, int count)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setflags(
        &program->attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    if (error == 0)
        error = posix_spawnattr_setsigmask(&program->attributes, &none);
    if (error == 0)
        error = posix_spawnattr_setsigdefault(&program->attributes, &all);
    for (int i = 0; i < count && error == 0; i++)
        error = posix_spawn_file_actions_adddup2(&program->actions, kept[i], i);
    return error;
}

int spawn_apart(const char *path, char *const *arguments, char *const *environment,
                const int *descriptors, int count)
{
    int kept[MOST_DESCRIPTORS];
    struct program program = {.path = path, .arguments = arguments, .environment = environment};
    if (count > MOST_DESCRIPTORS)
        return E2BIG;
    int made = 0, error = 0;
    for (; made < count && error == 0; made++)
        if ((kept[made] = fcntl(descriptors[made], F_DUPFD_CLOEXEC, ABOVE)) < 0)
            error = errno == EINVAL ? EMFILE : errno; /* the limit is below ABOVE */
    posix_spawn_file_actions_init(&program.actions);
    posix_spawnattr_init(&program.attributes);
    if (error == 0)
        error = prepare(&program, kept, count);
    if (error == 0)
        error = start_in_between(&program);
    posix_spawnattr_destroy(&program.attributes);
    posix_spawn_file_actions_destroy(&program.actions);
    for (int i = 0; i < made; i++)
        if (kept[i] >= 0)
            close(kept[i]);
    return error;
}
