/* SPDX-License-Identifier: Apache-2.0
 *
 * fpgart-board, the board process: a keeper, and the process that runs the engine, which the
 * keeper starts. The keeper reports to the host how that process ended, and ends it when the
 * host requests that or has exited. It has no interpreter: that is in a library (board.c), which
 * the other process opens.
 *
 * Descriptor 3 is the session with the host (fpgart/boardprocess), 4 the keeper's: any byte from
 * the host ends the board process; its wait status is sent there, and nothing else. */
#define _GNU_SOURCE
#include "board.h"
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SESSION = 3, KEEPER = 4, ALTERNATE_STACK = 65536 };

const char fpgart_loss[] = "no board process";
const char fpgart_behind[] = "libfpgart_board";

/* Gives threads a stack for signal handlers. A work-item that has used up its stack leaves no
 * room for a handler, and the engine creates its own threads: so this replaces the C
 * library's function for all libraries of the process. */

struct thread {
    void *(*run)(void *data);
    void *data;
};

static void give_stack(void)
{
    void *memory = mmap(NULL, ALTERNATE_STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return;
    const stack_t stack = {.ss_sp = memory, .ss_size = ALTERNATE_STACK};
    sigaltstack(&stack, NULL);
}

static void take_stack(void *unused)
{
    stack_t stack;
    const stack_t none = {.ss_flags = SS_DISABLE};
    (void)unused;
    if (sigaltstack(&none, &stack) == 0 && !(stack.ss_flags & SS_DISABLE) &&
        stack.ss_size == ALTERNATE_STACK)
        munmap(stack.ss_sp, stack.ss_size);
}

static void *run_thread(void *data)
{
    struct thread thread = *(struct thread *)data;
    void *result;
    free(data);
    give_stack();
    pthread_cleanup_push(take_stack, NULL);
    result = thread.run(thread.data);
    pthread_cleanup_pop(1);
    return result;
}

static int (*usual_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static void find_usual_create(void)
{
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&usual_create, &found, sizeof usual_create);
}

__attribute__((visibility("default"))) int
pthread_create(pthread_t *made, const pthread_attr_t *attributes, void *(*run)(void *), void *data)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_usual_create);
    struct thread *thread = malloc(sizeof *thread);
    if (thread == NULL)
        return EAGAIN;
    *thread = (struct thread){run, data};
    int error = usual_create(made, attributes, run_thread, thread);
    if (error != 0)
        free(thread);
    return error;
}

/* The process that runs the engine */

static void prefer_as_victim(void)
{
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return;
    if (write(file, "500", 3) < 0) { /* the system may refuse it */
    }
    close(file);
}

static int serve(const char *engine)
{
    __typeof__(&fpgart_serve_session) serve_session;
    give_stack();
    void *const *doors = fpgart_doors();
    if (doors == NULL)
        return 1;
    memcpy(&serve_session, &doors[0], sizeof serve_session);
    return serve_session(SESSION, engine);
}

static void be_board(pid_t keeper, const char *engine)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper)
        _exit(1);
    prctl(PR_SET_NAME, "fpgart-board");
    prefer_as_victim();
    close(KEEPER);
    int failed = serve(engine);
    fflush(NULL);
    _exit(failed);
}

/* The keeper */

static int descriptor_of(pid_t process)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, process, 0);
#else
    (void)process;
    return -1;
#endif
}

/* Ends the board process when the host requests that, or when it has exited, by whichever
 * sign comes first: children of the host may keep its end of the socket open. */
static int await_board(pid_t board, int ends, pid_t host)
{
    struct pollfd events[] = {{.fd = ends, .events = POLLIN},
                              {.fd = KEEPER, .events = POLLIN},
                              {.fd = descriptor_of(host), .events = POLLIN}};
    int status = 0;
    while (waitpid(board, &status, WNOHANG) == 0) {
        if (poll(events, 3, -1) < 0)
            continue;
        if (events[1].revents != 0 || events[2].revents != 0) {
            kill(board, SIGKILL);
            events[1].fd = events[2].fd = -1;
        }
        if (events[0].revents != 0) {
            struct signalfd_siginfo unused;
            if (read(ends, &unused, sizeof unused) < 0 && errno != EAGAIN)
                break;
        }
    }
    return status;
}

static void close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
#endif
    for (int i = first; i < 1024; i++)
        close(i);
}

int main(int count, char **arguments)
{
    if (count != 3) {
        fprintf(stderr, "fpgart-board is started by the driver; see `fpgart run --isolate`\n");
        return 2;
    }
    pid_t host = (pid_t)atol(arguments[1]), keeper = getpid();
    sigset_t child;
    close_from(KEEPER + 1); /* closes the files that the host had open */
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    pid_t board = fork();
    if (board < 0)
        return 1;
    if (board == 0) {
        sigprocmask(SIG_UNBLOCK, &child, NULL);
        be_board(keeper, arguments[2]);
    }
    prctl(PR_SET_NAME, "fpgart-keeper");
    for (int i = 0; i < KEEPER; i++)
        close(i);
    int status = await_board(board, signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK), host);
    return write(KEEPER, &status, sizeof status) == sizeof status ? 0 : 1;
}
