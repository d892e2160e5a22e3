/* SPDX-License-Identifier: Apache-2.0
 *
 * The file FAILING_CALLS, which the processes that have the engine of failing_engine.c share with
 * their host. */
#pragma once

#include <CL/cl.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CONTEXTS, QUEUES, BUFFERS, PROGRAMS, KERNELS, EVENTS, KINDS };

struct calls {
    atomic_uint made;       /* of all functions that the engine's dispatch table has */
    atomic_uint failing;    /* the number of the one that fails, counted from 1; 0: none */
    cl_int status;          /* that it fails with */
    char name[64];          /* of its function, once it has failed */
    atomic_int live[KINDS]; /* objects of the engine that were made and not released */
};

static inline struct calls *shared_calls(void)
{
    int file = open(getenv("FAILING_CALLS"), O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct calls)) != 0)
        abort();
    void *mapped = mmap(NULL, sizeof(struct calls), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED)
        abort();
    return mapped;
}
