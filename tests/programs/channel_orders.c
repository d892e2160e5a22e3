/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels whose result depends on channels: `depth`, which needs one of four packets; `order`,
 * where a kernel takes from two channels what is there first; `right`, which waits for each in
 * turn. */
#include "../../conformance/c/host.h"

enum { COUNT = 4 };

static const char source[] =
    "#pragma OPENCL EXTENSION cl_intel_channels : enable\n"
    "channel int a __attribute__((depth(2))), b __attribute__((depth(2)));\n"
    "kernel void give(int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) write_channel_intel(a, i);\n"
    "    for (int i = 0; i < n; i++) write_channel_intel(b, 100 + i);\n"
    "}\n"
    "kernel void take_last_first(global int *x, int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) x[i] = read_channel_intel(b);\n"
    "    for (int i = 0; i < n; i++) x[n + i] = read_channel_intel(a);\n"
    "}\n"
    "kernel void take_what_is_there(global int *x, int n)\n"
    "{\n"
    "    for (int i = 0; i < 2 * n;) {\n"
    "        bool valid;\n"
    "        int packet = read_channel_nb_intel(a, &valid);\n"
    "        if (valid) x[i++] = packet;\n"
    "        packet = read_channel_nb_intel(b, &valid);\n"
    "        if (valid) x[i++] = packet;\n"
    "    }\n"
    "}\n"
    "kernel void take_in_turn(global int *x, int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) x[i] = read_channel_intel(a);\n"
    "    for (int i = 0; i < n; i++) x[n + i] = read_channel_intel(b);\n"
    "}\n";

static void task(struct host *host, cl_command_queue queue, const char *name, cl_mem buffer)
{
    const size_t one = 1;
    const cl_int count = COUNT;
    cl_uint index = 0;
    cl_kernel kernel = new_kernel(host, name);
    if (buffer != NULL)
        set_argument(kernel, index++, sizeof buffer, &buffer);
    set_argument(kernel, index, sizeof count, &count);
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
    MUST(clFlush(queue));
    MUST(clReleaseKernel(kernel));
}

int main(int argc, char **argv)
{
    struct host host;
    cl_int packets[2 * COUNT];
    const char *part = argc > 1 ? argv[1] : "";
    start(&host, source);
    cl_command_queue other = new_queue(&host);
    cl_mem buffer = new_buffer(&host, sizeof packets);
    task(&host, host.queue, "give", NULL);
    task(&host, other,
         strcmp(part, "depth") == 0   ? "take_last_first"
         : strcmp(part, "order") == 0 ? "take_what_is_there"
                                      : "take_in_turn",
         buffer);
    MUST(clFinish(host.queue));
    read_back(other, buffer, sizeof packets, packets);
    for (int i = 0; i < 2 * COUNT; i++)
        printf("%d ", packets[i]);
    printf("\n");
    return 0;
}
