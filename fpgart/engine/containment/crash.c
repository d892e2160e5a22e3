/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "crash.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
static volatile struct crash *told;
static atomic_flag first = ATOMIC_FLAG_INIT;

static uint64_t stack_of(const void *context)
{
    const ucontext_t *machine = context;
#if defined(__x86_64__)
    return (uint64_t)machine->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return machine->uc_mcontext.sp;
#else
    return 0;
#endif
}

/* Describes the signal, and restores its default action, which follows when the instruction is
 * repeated. abort() raises its signal once more by itself. */
static void describe(int number, siginfo_t *info, void *context)
{
    if (!atomic_flag_test_and_set(&first)) {
        told->code = info->si_code;
        told->address = (uint64_t)(uintptr_t)info->si_addr;
        told->stack = stack_of(context);
        atomic_thread_fence(memory_order_release);
        told->signal = (uint32_t)number;
    }
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(number, &usual, NULL);
    if (info->si_code <= 0) /* sent by a process, so that no instruction is repeated */
        raise(number);
}

void crash_watch(uintptr_t crash)
{
    struct sigaction ours = {.sa_sigaction = describe, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    told = (struct crash *)crash;
    sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++)
        sigaction(deadly[i], &ours, NULL);
}
