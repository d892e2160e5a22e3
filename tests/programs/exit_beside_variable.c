/* SPDX-License-Identifier: Apache-2.0
 *
 * main() returns while a thread launches kernels of a program with a program-scope variable. */
#include "host.h"

#include <stdatomic.h>

static struct host host;
static atomic_int begun;

static void *launch_on(void *unused)
{
    size_t one = 1;
    cl_command_queue queue = new_queue(&host);
    cl_kernel kernel = new_kernel(&host, "count");
    cl_mem buffer = new_buffer(&host, sizeof(cl_int));
    set_argument(kernel, 0, sizeof buffer, &buffer);
    while (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL) ==
               CL_SUCCESS &&
           clFinish(queue) == CL_SUCCESS)
        begun = 1;
    return unused;
}

int main(void)
{
    pthread_t thread;
    start(&host, "global int v = 5; kernel void count(global int *o) { *o = v++; }");
    must_be(pthread_create(&thread, NULL, launch_on, NULL) == 0, "a thread");
    while (!begun)
        usleep(1000);
    return 0;
}
