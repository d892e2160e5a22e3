/* SPDX-License-Identifier: Apache-2.0
 *
 * A host with a mistake: the function MISTAKE of the program, by which it is compiled. Called with
 * `fixed` it is right. The comment above the function says which finding the mistake has to give:
 * "finds: family: rule". */
#pragma once

#include "usm.h"

enum { COUNT = 1024, SIZE = COUNT * sizeof(cl_int) };

static struct host host;
static bool fixed;
static char **words; /* of the program */

void MISTAKE(void);

int main(int argc, char **argv)
{
    fixed = argc > 1 && strcmp(argv[1], "fixed") == 0;
    words = argv;
    MISTAKE();
    return 0;
}

HOST_FUNCTION void start_with_usm(const char *source)
{
    start(&host, source);
    find_usm(&host);
}

/* The second of two devices, in a context of both. */
HOST_FUNCTION void find_second_device(cl_device_id devices[2])
{
    cl_int status;
    find_device(&host);
    MUST(clGetDeviceIDs(host.platform, CL_DEVICE_TYPE_ALL, 2, devices, NULL));
    host.context = clCreateContext(NULL, 2, devices, NULL, NULL, &status);
    must(status, "clCreateContext");
    host.device = devices[1];
    host.queue = new_queue(&host);
}

HOST_FUNCTION cl_command_queue new_out_of_order_queue(void)
{
    return new_queue_with(&host, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

HOST_FUNCTION cl_mem filled_buffer(size_t size)
{
    cl_mem buffer = new_buffer(&host, size);
    fill(host.queue, buffer, 1, size);
    return buffer;
}

HOST_FUNCTION void unmap(cl_mem buffer, void *mapped)
{
    MUST(clEnqueueUnmapMemObject(host.queue, buffer, mapped, 0, NULL, NULL));
}

/* A kernel whose first argument is a buffer. */
HOST_FUNCTION cl_kernel kernel_with(const char *name, cl_mem buffer)
{
    cl_kernel kernel = new_kernel(&host, name);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    return kernel;
}

/* A kernel that copies one buffer to another. */
HOST_FUNCTION cl_kernel copy_kernel(cl_mem from, cl_mem to)
{
    cl_kernel kernel = kernel_with("copy", from);
    set_argument(kernel, 1, sizeof to, &to);
    return kernel;
}

HOST_FUNCTION void finish(void)
{
    MUST(clFinish(host.queue));
}

/* Launches a kernel at memory, and frees that when the kernel has ended. */
HOST_FUNCTION void use_and_free(const char *name, char *memory, size_t offset, size_t items)
{
    launch(host.queue, kernel_at(&host, name, memory + offset), items, NULL);
    MUST(blocking_free(host.context, memory));
}

#define ADD_ONE                                                                                    \
    "kernel void add_one(global int *data) { data[get_global_id(0)] += 1; }\n"                     \
    "kernel void copy(global int *from, global int *to)\n"                                         \
    "{ size_t i = get_global_id(0); to[i] = from[i]; }\n"
