/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine that makes a static object in a launch, as compilers do, and uses it until the launch
 * returns, which is after the host has called exit(). If exit() destroys the object meanwhile, the
 * process ends with the status DESTROYED. */
#include "static_engine.h"

#include "wrapped_engine.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static clEnqueueNDRangeKernel_fn enqueue;
static atomic_bool is_used;

static void destroy(void)
{
    if (is_used)
        _exit(DESTROYED);
}

static void wait_a_millisecond(void)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    nanosleep(&millisecond, NULL);
}

static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                     const size_t *offset, const size_t *global, const size_t *local, cl_uint waits,
                     const cl_event *wait_list, cl_event *event)
{
    atomic_int *stage = (atomic_int *)(uintptr_t)strtoull(getenv(STAGE), NULL, 0);
    is_used = true;
    atexit(destroy);
    *stage = USED;
    while (*stage != EXITING)
        wait_a_millisecond();
    /* destroy() follows at once if it comes too early; that it does not come cannot be seen. */
    for (int i = 0; i < 200; i++)
        wait_a_millisecond();
    is_used = false;
    return enqueue(queue, kernel, dimensions, offset, global, local, waits, wait_list, event);
}

static void wrap(struct _cl_icd_dispatch *table)
{
    enqueue = table->clEnqueueNDRangeKernel;
    table->clEnqueueNDRangeKernel = launch;
}
