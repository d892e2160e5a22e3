/* SPDX-License-Identifier: Apache-2.0
 *
 * Boards in a ring, each of which sends packets onwards and receives as many
 * (benchmarks/cables.py).
 *
 *     cables PACKETS
 *
 * Uses all devices of this process. Prints a line of JSON: seconds from the first launch to the
 * last end, processor seconds of the process meanwhile, and its memory in KiB (its share of what
 * processes share). */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST = 64 };

static const char *source =
    "typedef struct { uint lane[8]; } word;\n"
    "channel word onwards __attribute__((io(\"kernel_output_ch0\")));\n"
    "channel word before __attribute__((io(\"kernel_input_ch1\")));\n"
    "kernel void leave(uint packets) {\n"
    "    word w;\n"
    "    for (uint i = 0; i < packets; i++) { w.lane[0] = i; write_channel_intel(onwards, w); }\n"
    "}\n"
    "kernel void come(uint packets, global uint *wrong) {\n"
    "    for (uint i = 0; i < packets; i++)\n"
    "        if (read_channel_intel(before).lane[0] != i) wrong[0]++;\n"
    "}\n";

static void check(cl_int status, const char *what)
{
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s: %d\n", what, status);
        exit(1);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double processor_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static long memory_kib(void)
{
    char line[256];
    long found = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Pss: %ld", &found) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return found;
}

/* One round on all devices: every board sends and receives so many packets. */
static void run(cl_uint own, cl_command_queue queues[][2], cl_kernel kernels[][2], cl_uint packets)
{
    for (cl_uint d = 0; d < own; d++)
        for (int way = 0; way < 2; way++) {
            check(clSetKernelArg(kernels[d][way], 0, sizeof packets, &packets), "clSetKernelArg");
            check(clEnqueueTask(queues[d][way], kernels[d][way], 0, NULL, NULL), "clEnqueueTask");
            check(clFlush(queues[d][way]), "clFlush");
        }
    for (cl_uint d = 0; d < own; d++)
        for (int way = 0; way < 2; way++)
            check(clFinish(queues[d][way]), "clFinish");
}

int main(int argc, char **argv)
{
    static cl_command_queue queues[MOST][2];
    static cl_kernel kernels[MOST][2];
    cl_platform_id platform;
    cl_device_id devices[MOST];
    cl_int status;
    cl_uint own;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &own), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, own, devices, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, own, devices, "", NULL, NULL), "clBuildProgram");
    cl_mem wrong[MOST];
    for (cl_uint d = 0; d < own; d++) {
        const cl_uint none = 0;
        for (int way = 0; way < 2; way++) {
            queues[d][way] = clCreateCommandQueue(context, devices[d], 0, &status);
            check(status, "clCreateCommandQueue");
            kernels[d][way] = clCreateKernel(program, way ? "come" : "leave", &status);
            check(status, "clCreateKernel");
        }
        wrong[d] = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof none, NULL, &status);
        check(status, "clCreateBuffer");
        check(clEnqueueWriteBuffer(queues[d][1], wrong[d], CL_TRUE, 0, sizeof none, &none, 0, NULL,
                                   NULL),
              "clEnqueueWriteBuffer");
        check(clSetKernelArg(kernels[d][1], 1, sizeof wrong[d], &wrong[d]), "clSetKernelArg");
    }
    run(own, queues, kernels, 1); /* all are there, and all is compiled */
    const double begin = seconds(), processor = processor_seconds();
    run(own, queues, kernels, argc > 1 ? (cl_uint)atoi(argv[1]) : 1000);
    const double took = seconds() - begin, used = processor_seconds() - processor;
    cl_uint found = 0, all = 0;
    for (cl_uint d = 0; d < own; d++) {
        check(clEnqueueReadBuffer(queues[d][1], wrong[d], CL_TRUE, 0, sizeof found, &found, 0, NULL,
                                  NULL),
              "clEnqueueReadBuffer");
        all += found;
    }
    printf("{\"seconds\": %.6f, \"processor\": %.6f, \"memory\": %ld, \"wrong\": %u}\n", took, used,
           memory_kib(), all);
    return all > 0;
}
