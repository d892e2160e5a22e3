/* SPDX-License-Identifier: Apache-2.0
 *
 * What belongs to the host process is as it was after the driver was loaded and used: the
 * dispositions of all signals, the signal mask, the locale, the floating-point rounding, the
 * working folder, umask, the environment.
 *
 *     signal_handlers_stay [default | own]
 *
 * own: with handlers of the host's own in place. */
#include "host.h"

/* Not the C library's own SA_RESTORER, which it sets in whatever a host installs again. */
#define PUBLIC_FLAGS                                                                               \
    (SA_NOCLDSTOP | SA_NOCLDWAIT | SA_NODEFER | SA_ONSTACK | SA_RESETHAND | SA_RESTART | SA_SIGINFO)

#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>

struct state {
    struct sigaction actions[65];
    sigset_t mask;
    char locale[256];
    int rounding;
    char folder[4096];
    mode_t umask;
    char environment[1 << 16];
};

static void mine(int number)
{
    (void)number;
}

static void look_at_environment(char *text, size_t size)
{
    size_t length = 0;
    for (char **each = environ; *each != NULL; each++)
        if (length + strlen(*each) + 1 < size)
            length += (size_t)snprintf(text + length, size - length, "%s\n", *each);
}

static void look(struct state *state)
{
    memset(state, 0, sizeof *state);
    for (int i = 1; i < 65; i++)
        sigaction(i, NULL,
                  &state->actions[i]); /* the C library keeps two to itself: they stay zero */
    pthread_sigmask(SIG_SETMASK, NULL, &state->mask);
    snprintf(state->locale, sizeof state->locale, "%s", setlocale(LC_ALL, NULL));
    state->rounding = fegetround();
    must_be(getcwd(state->folder, sizeof state->folder) != NULL, "there is a working folder");
    state->umask = umask(0);
    umask(state->umask);
    look_at_environment(state->environment, sizeof state->environment);
}

static bool same(const struct state *before, const struct state *after)
{
    bool equal = true;
    for (int i = 1; i < 65; i++) {
        if (before->actions[i].sa_handler == after->actions[i].sa_handler &&
            ((before->actions[i].sa_flags ^ after->actions[i].sa_flags) & PUBLIC_FLAGS) == 0)
            continue;
        fprintf(stderr, "signal %d has another disposition\n", i);
        equal = false;
    }
    for (int i = 1; i < 65; i++)
        equal = equal && sigismember(&before->mask, i) == sigismember(&after->mask, i);
    return equal && strcmp(before->locale, after->locale) == 0 &&
           before->rounding == after->rounding && strcmp(before->folder, after->folder) == 0 &&
           before->umask == after->umask && strcmp(before->environment, after->environment) == 0;
}

int main(int count, char **arguments)
{
    static struct state before, loaded, after;
    struct host host;
    cl_int one = 1;
    const int signals[] = {SIGINT, SIGSEGV, SIGPIPE, SIGTERM, SIGCHLD, SIGUSR1, SIGFPE};
    if (count > 1 && strcmp(arguments[1], "own") == 0)
        for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
            signal(signals[i], mine);
    look(&before);
    find_device(&host);
    look(&loaded);
    must_be(same(&before, &loaded), "after loading all is as before");
    start(&host, SPIN_SOURCE);
    cl_kernel add = new_kernel(&host, "add");
    cl_mem buffer = new_buffer(&host, 256);
    fill(host.queue, buffer, 1, 256);
    set_argument(add, 0, sizeof buffer, &buffer);
    set_argument(add, 1, sizeof one, &one);
    launch(host.queue, add, 64, NULL);
    MUST(clFinish(host.queue));
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(add));
    stop(&host);
    look(&after);
    must_be(same(&before, &after), "after a kernel all is as before");
    puts("right");
    return 0;
}
