/* SPDX-License-Identifier: Apache-2.0
 *
 * A host with a mistake: run(), which each program defines. Called with `fixed` it is right. The
 * head of each program says which finding the mistake has to give: "finds: family: rule". */
#pragma once

#include "usm.h"

enum { COUNT = 1024, SIZE = COUNT * sizeof(cl_int) };

static struct host host;
static bool fixed;
static char **words; /* of the program */

static void run(void);

int main(int argc, char **argv)
{
    fixed = argc > 1 && strcmp(argv[1], "fixed") == 0;
    words = argv;
    run();
    return 0;
}

HOST_FUNCTION cl_command_queue new_out_of_order_queue(void)
{
    return new_queue_with(&host, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

HOST_FUNCTION void *device_memory(size_t size)
{
    cl_int status;
    void *pointer = device_alloc(host.context, host.device, NULL, size, 0, &status);
    must(status, "clDeviceMemAllocINTEL");
    return pointer;
}

HOST_FUNCTION void *host_memory(size_t size)
{
    cl_int status;
    void *pointer = host_alloc(host.context, NULL, size, 0, &status);
    must(status, "clHostMemAllocINTEL");
    return pointer;
}

HOST_FUNCTION void finish(void)
{
    MUST(clFinish(host.queue));
}

#define ADD_ONE                                                                                    \
    "kernel void add_one(global int *data) { data[get_global_id(0)] += 1; }\n"                     \
    "kernel void copy(global int *from, global int *to)\n"                                         \
    "{ size_t i = get_global_id(0); to[i] = from[i]; }\n"
