/* SPDX-License-Identifier: Apache-2.0
 *
 * Private arrays of a kernel are on the stack of the thread that runs it. On boards they are memory
 * of the chip, tens of megabytes; threads usually have eight. Memory that is not touched costs
 * nothing.
 */
#define _GNU_SOURCE
#include "stacks.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

#define WIDE_BYTES ((size_t)256 << 20)
#define GUARD_BYTES ((size_t)64 << 10)

struct call {
    int64_t (*run)(const void *data);
    const void *data;
    int64_t result;
};

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
static __thread struct call *calling;

static void enter(void)
{
    struct call *call = calling;
    call->result = call->run(call->data);
}
#endif

int64_t on_wide_stack(int64_t (*run)(const void *data), const void *data)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return run(data); /* sanitizers support only the stacks of threads */
#else
    struct call call = {run, data, 0};
    ucontext_t here, there;
    char *stack = mmap(NULL, WIDE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return run(data);
    mprotect(stack, GUARD_BYTES, PROT_NONE);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = WIDE_BYTES;
    there.uc_link = &here;
    makecontext(&there, enter, 0);
    calling = &call;
    swapcontext(&here, &there);
    munmap(stack, WIDE_BYTES);
    return call.result;
#endif
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int widened;
static size_t before;

void stacks_widen(int begins)
{
    pthread_attr_t usual;
    pthread_mutex_lock(&lock);
    widened += begins ? 1 : -1;
    if (widened == begins && pthread_getattr_default_np(&usual) == 0) {
        if (begins)
            pthread_attr_getstacksize(&usual, &before);
        pthread_attr_setstacksize(&usual, begins && before < WIDE_BYTES ? WIDE_BYTES : before);
        pthread_setattr_default_np(&usual);
        pthread_attr_destroy(&usual);
    }
    pthread_mutex_unlock(&lock);
}
