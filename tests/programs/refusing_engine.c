/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine that refuses one launch in REFUSING_EACH, once the file REFUSING_WHILE exists. */
#include "wrapped_engine.h"

#include <stdatomic.h>

static clEnqueueNDRangeKernel_fn enqueue;
static atomic_uint given;

static cl_int refuse(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                     const size_t *offset, const size_t *global, const size_t *local, cl_uint waits,
                     const cl_event *wait_list, cl_event *event)
{
    if (access(getenv("REFUSING_WHILE"), F_OK) == 0 &&
        ++given % (unsigned)atoi(getenv("REFUSING_EACH")) == 0)
        return CL_OUT_OF_RESOURCES;
    return enqueue(queue, kernel, dimensions, offset, global, local, waits, wait_list, event);
}

static void wrap(struct _cl_icd_dispatch *table)
{
    enqueue = table->clEnqueueNDRangeKernel;
    table->clEnqueueNDRangeKernel = refuse;
}
