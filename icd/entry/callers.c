/* SPDX-License-Identifier: Apache-2.0
 *
 * The place in the host's code that a call came from: the return addresses behind the entry
 * point that this thread is in. Only watchers ask for it. */
#define _GNU_SOURCE
#include "callers.h"

#include "interpreter.h"

#include <execinfo.h>
#include <link.h>
#include <pthread.h>

#define DEPTH 128 /* frames of the interpreter, of the loader and of the host */

static uintptr_t own_begin, own_end;

static int find_own(struct dl_phdr_info *info, size_t size, void *data)
{
    uintptr_t here = (uintptr_t)&fpgart_host_frames, begin = UINTPTR_MAX, end = 0;
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

/* Innermost first: this library, the interpreter that called it, the entry point (this
 * library again), and then the frames of the host. On a thread of the driver there is no
 * entry point. Without the interpreter, the host's frames are those behind this library. */
size_t fpgart_frames_of_call(uintptr_t *frames, size_t most, int through_interpreter)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    void *all[DEPTH];
    int count = backtrace(all, DEPTH), next = 0;
    size_t found = 0;
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

size_t fpgart_host_frames(uintptr_t *frames, size_t most)
{
    return fpgart_frames_of_call(frames, most, 1);
}
