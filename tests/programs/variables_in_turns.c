/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads launch kernels of two programs, of which an FPGA board holds one at a time, while another
 * thread reads the variable of each: reads have the board programmed again, and none fails. */
#include "host.h"

#include <CL/cl_ext_intelfpga.h>

enum { READS = 200 };

static struct host host;
static volatile bool ended;

static void *launch_often(void *program)
{
    cl_command_queue queue = new_queue(&host);
    cl_kernel kernel = kernel_in(program, "count");
    cl_mem buffer = new_buffer(&host, sizeof(cl_int));
    set_argument(kernel, 0, sizeof buffer, &buffer);
    while (!ended) {
        for (int i = 0; i < 4; i++)
            launch(queue, kernel, 1, NULL);
        MUST(clFinish(queue));
    }
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    start(&host, "global int v = 5; kernel void count(global int *o) { *o = v; }");
    cl_program programs[] = {
        host.program,
        new_program(&host, "global int v = 7; kernel void count(global int *o) { *o = v + 1; }",
                    "")};
    for (int i = 0; i < 2; i++)
        must_be(pthread_create(threads + i, NULL, launch_often, programs[i]) == 0, "a thread");
    for (int i = 0; i < READS; i++) {
        cl_int found = 0;
        MUST(clEnqueueReadGlobalVariableINTEL(host.queue, programs[i % 2], "v", CL_TRUE,
                                              sizeof found, 0, &found, 0, NULL, NULL));
        must_be(found == (i % 2 ? 7 : 5), "the variable of its program");
    }
    ended = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    MUST(clReleaseProgram(programs[1]));
    stop(&host);
    puts("ok");
    return 0;
}
