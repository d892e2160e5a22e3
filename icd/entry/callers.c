/* SPDX-License-Identifier: Apache-2.0
 *
 * The place in the host's code that a call came from: the return addresses behind the entry
 * point that this thread is in. Only watchers ask for it. */
#define _GNU_SOURCE
#include "callers.h"

#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <unwind.h>

#define DEPTH 128 /* frames of the interpreter, of the loader and of the host */

static uintptr_t own_begin, own_end;

static int find_own(struct dl_phdr_info *info, size_t size, void *data)
{
    uintptr_t here = (uintptr_t)&fpgart_frames_of_call, begin = UINTPTR_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD)
            continue;
        uintptr_t first = info->dlpi_addr + part->p_vaddr;
        begin = first < begin ? first : begin;
        end = first + part->p_memsz > end ? first + part->p_memsz : end;
    }
    if (here < begin || here >= end)
        return 0;
    own_begin = begin;
    own_end = end;
    return 1;
}

static void find_out(void)
{
    dl_iterate_phdr(find_own, NULL);
}

static int is_own(const void *address)
{
    return (uintptr_t)address >= own_begin && (uintptr_t)address < own_end;
}

#ifdef __x86_64__
#define STACKS 4
#define PLACES 48 /* as many as callers want, and those of this library and the loader */

/* The return addresses on this thread's stack, and their places there, from `frame` outwards. */
struct stack {
    uintptr_t frame;
    size_t count;
    uintptr_t places[PLACES], addresses[PLACES];
};

static _Thread_local struct stack stacks[STACKS];
static _Thread_local unsigned next_stack;

/* On x86-64 a call writes the return address right below the caller's frame. */
static _Unwind_Reason_Code add_place(struct _Unwind_Context *context, void *data)
{
    struct stack *stack = data;
    uintptr_t place = _Unwind_GetCFA(context) - sizeof(uintptr_t), address = _Unwind_GetIP(context);
    if (place <= stack->frame)
        return _URC_NO_REASON;
    if (address == 0 || stack->count == PLACES) /* behind the thread's first function, or enough */
        return _URC_NORMAL_STOP;
    if (*(const uintptr_t *)place != address) {
        stack->frame = 0;
        return _URC_NORMAL_STOP;
    }
    stack->places[stack->count] = place;
    stack->addresses[stack->count++] = address;
    return _URC_NO_REASON;
}

static int is_still(const struct stack *stack, uintptr_t frame)
{
    if (stack->frame != frame)
        return 0;
    for (size_t i = 0; i < stack->count; i++)
        if (*(const uintptr_t *)stack->places[i] != stack->addresses[i])
            return 0;
    return 1;
}

/* Returns the return addresses outside of `frame`, or NULL if they are in other places. Unwinding
 * takes longer than the rest of a launch, and a host makes most of its calls in a loop: if an
 * earlier call had the same frame, and all return addresses are still in their places, they are
 * those of this call. */
static const struct stack *stack_outside(uintptr_t frame)
{
    for (unsigned i = 0; i < STACKS; i++)
        if (is_still(&stacks[i], frame))
            return &stacks[i];
    struct stack *made = &stacks[next_stack++ % STACKS];
    made->frame = frame;
    made->count = 0;
    _Unwind_Backtrace(add_place, made);
    return made->frame != 0 ? made : NULL;
}

/* Returns the number of frames, 0 if they are not known. */
static int frames_without_interpreter(uintptr_t frame, void **all)
{
    const struct stack *stack = stack_outside(frame);
    for (size_t i = 0; stack != NULL && i < stack->count; i++)
        all[i] = (void *)stack->addresses[i];
    return stack != NULL ? (int)stack->count : 0;
}
#else
static int frames_without_interpreter(uintptr_t frame, void **all)
{
    (void)frame, (void)all;
    return 0;
}
#endif

/* Innermost first: this library, the interpreter that called it, the entry point (this
 * library again), and then the frames of the host. On a thread of the driver there is no
 * entry point. Without the interpreter, the host's frames are those behind this library. */
size_t fpgart_frames_of_call(uintptr_t *frames, size_t most, int through_interpreter)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    void *all[DEPTH];
    int count = 0, next = 0;
    size_t found = 0;
    if (!through_interpreter)
        count = frames_without_interpreter((uintptr_t)__builtin_frame_address(0), all);
    if (count == 0)
        count = backtrace(all, DEPTH);
    pthread_once(&once, find_out);
    while (next < count && is_own(all[next]))
        next++;
    while (through_interpreter && next < count && !is_own(all[next]))
        next++;
    while (next < count && is_own(all[next]))
        next++;
    while (next < count && found < most)
        frames[found++] = (uintptr_t)all[next++];
    return found;
}
