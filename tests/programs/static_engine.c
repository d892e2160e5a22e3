/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine that makes a static object when it is opened, and another one in the first launch, as
 * compilers do, which it uses in each. If exit() destroys that before or while a launch uses it,
 * the process ends with the status DESTROYED. With STAGE the launch returns after the host has
 * called exit(). With LIBRARY the first launch uses that library, and closes it. */
#include "static_engine.h"

#include "wrapped_engine.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static clEnqueueNDRangeKernel_fn enqueue;
static void *library;
static atomic_bool is_made, is_used, is_destroyed;

static void destroy(void)
{
    if (is_used)
        _exit(DESTROYED);
    is_destroyed = true;
    puts("destroyed");
}

static void wait_a_millisecond(void)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    nanosleep(&millisecond, NULL);
}

static void destroy_first(void)
{
    puts("the first destroyed");
}

__attribute__((constructor)) static void make_first(void)
{
    const char *path = getenv(LIBRARY);
    atexit(destroy_first);
    library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void make(void)
{
    void (*use)(void) = NULL;
    void *found = library != NULL ? dlsym(library, "use") : NULL;
    atexit(destroy);
    memcpy(&use, &found, sizeof use);
    if (use != NULL) {
        use();
        dlclose(library);
    }
}

static void wait_for_exit(atomic_int *stage)
{
    *stage = USED;
    while (*stage != EXITING)
        wait_a_millisecond();
    /* destroy() follows at once if it comes too early; that it does not come cannot be seen. */
    for (int i = 0; i < 200; i++)
        wait_a_millisecond();
}

static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                     const size_t *offset, const size_t *global, const size_t *local, cl_uint waits,
                     const cl_event *wait_list, cl_event *event)
{
    const char *stage = getenv(STAGE);
    if (is_destroyed)
        _exit(DESTROYED);
    is_used = true;
    if (!atomic_exchange(&is_made, true))
        make();
    if (stage != NULL)
        wait_for_exit((atomic_int *)(uintptr_t)strtoull(stage, NULL, 0));
    is_used = false;
    return enqueue(queue, kernel, dimensions, offset, global, local, waits, wait_list, event);
}

static void wrap(struct _cl_icd_dispatch *table)
{
    enqueue = table->clEnqueueNDRangeKernel;
    table->clEnqueueNDRangeKernel = launch;
}
