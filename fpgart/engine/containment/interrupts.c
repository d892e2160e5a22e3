/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "interrupts.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic uint32_t count;
static struct sigaction hosts;

static void on_signal(int number, siginfo_t *info, void *context)
{
    atomic_fetch_add(&count, 1);
    if (hosts.sa_flags & SA_SIGINFO)
        hosts.sa_sigaction(number, info, context);
    else
        hosts.sa_handler(number);
}

void interrupts_watch(void)
{
    struct sigaction ours;
    if (sigaction(SIGINT, NULL, &hosts) != 0)
        return;
    if (!(hosts.sa_flags & SA_SIGINFO) &&
        (hosts.sa_handler == SIG_DFL || hosts.sa_handler == SIG_IGN))
        return;
    ours = hosts;
    ours.sa_flags |= SA_SIGINFO;
    ours.sa_sigaction = on_signal;
    sigaction(SIGINT, &ours, NULL);
}

uint32_t interrupts(void)
{
    return atomic_load(&count);
}
