/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that make, look up and destroy objects of one context at the same time, so that whoever
 * looks something up does so while others add and remove.
 *
 *     registries [SECONDS [apart]]
 *
 * apart: no two threads map the same buffer. */
#include "host.h"
#include <stdatomic.h>

enum { KEPT = 64, SIZE = 4096, WRITERS = 2 };

static struct host host;
static atomic_bool over;
static atomic_long done;

static void *wanted(void *memory)
{
    must_be(memory != NULL, "there is memory");
    return memory;
}

static void *allocate(void *unused)
{
    void *kept[KEPT] = {NULL};
    (void)unused;
    for (unsigned i = 0; !over; i++, done++) {
        if (kept[i % KEPT] != NULL)
            clSVMFree(host.context, kept[i % KEPT]);
        kept[i % KEPT] = wanted(clSVMAlloc(host.context, CL_MEM_READ_WRITE, SIZE, 0));
    }
    for (int i = 0; i < KEPT; i++)
        if (kept[i] != NULL)
            clSVMFree(host.context, kept[i]);
    return NULL;
}

static void *wrap(void *unused)
{
    void *memory = wanted(aligned_alloc(SIZE, SIZE));
    (void)unused;
    for (; !over; done++) {
        cl_int status;
        cl_mem buffer = clCreateBuffer(host.context, CL_MEM_USE_HOST_PTR, SIZE, memory, &status);
        must(status, "clCreateBuffer with CL_MEM_USE_HOST_PTR beside clSVMAlloc");
        MUST(clReleaseMemObject(buffer));
    }
    free(memory);
    return NULL;
}

static void *make_contexts(void *unused)
{
    (void)unused;
    for (; !over; done++) {
        cl_int status;
        cl_context context = new_context(host.device);
        cl_command_queue queue =
            clCreateCommandQueueWithProperties(context, host.device, NULL, &status);
        must(status, "clCreateCommandQueueWithProperties");
        MUST(clReleaseCommandQueue(queue));
        MUST(clReleaseContext(context));
    }
    return NULL;
}

static void *make_kernels(void *unused)
{
    (void)unused;
    for (; !over; done++)
        MUST(clReleaseKernel(new_kernel(&host, "add")));
    return NULL;
}

/* Two regions of one buffer at the same address, mapped and unmapped by two threads. */
static void *map(void *shared)
{
    cl_mem buffer = shared;
    cl_command_queue queue = new_queue(&host);
    for (; !over; done++) {
        void *memory = map_buffer(queue, buffer, CL_MAP_READ, 0, 64);
        must(clEnqueueUnmapMemObject(queue, buffer, memory, 0, NULL, NULL),
             "clEnqueueUnmapMemObject of what another thread has mapped, too");
    }
    MUST(clFinish(queue));
    MUST(clReleaseCommandQueue(queue));
    return NULL;
}

int main(int count, char **words)
{
    void *(*const each[])(void *) = {allocate, wrap, make_contexts, make_kernels, map};
    enum { KINDS = sizeof each / sizeof each[0] };
    pthread_t threads[KINDS * WRITERS];
    cl_uint mapped = 1;
    start(&host, SPIN_SOURCE);
    cl_mem buffer = new_buffer(&host, SIZE);
    fill(host.queue, buffer, 1, SIZE);
    MUST(clFinish(host.queue));
    void *memory = clSVMAlloc(host.context, CL_MEM_READ_WRITE, SIZE, 0);
    int first = memory == NULL; /* a device without it */
    int last = count > 2 && strcmp(words[2], "apart") == 0 ? KINDS - 1 : KINDS;
    clSVMFree(host.context, memory);
    for (int i = first; i < KINDS * WRITERS; i++)
        if (i % KINDS >= first && i % KINDS < last)
            must(pthread_create(&threads[i], NULL, each[i % KINDS], buffer), "pthread_create");
    usleep((useconds_t)(1e6 * (count > 1 ? atof(words[1]) : 3)));
    over = true;
    for (int i = first; i < KINDS * WRITERS; i++)
        if (i % KINDS >= first && i % KINDS < last)
            must(pthread_join(threads[i], NULL), "pthread_join");
    MUST(clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof mapped, &mapped, NULL));
    must_be(mapped == 0, "all is unmapped");
    MUST(clReleaseMemObject(buffer));
    stop(&host);
    printf("%ld rounds\n", (long)done);
    return 0;
}
