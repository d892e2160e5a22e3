/* SPDX-License-Identifier: Apache-2.0
 *
 * Three kernels in a row: one reads numbers from memory, one that runs by itself squares them, one
 * adds them up in groups, which takes it longer than the others. docs/report.md shows its page.
 *
 * cc pipeline.c -o pipeline -lOpenCL */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1024, GROUP = 4 };

static const char *source =
    "#pragma OPENCL EXTENSION cl_intel_channels : enable\n"
    "channel float numbers __attribute__((depth(8)));\n"
    "channel float squares __attribute__((depth(2)));\n"
    "kernel void produce(global const float *x, int count)\n"
    "{\n"
    "    for (int i = 0; i < count; i++) write_channel_intel(numbers, x[i]);\n"
    "}\n"
    "__attribute__((max_global_work_dim(0))) __attribute__((autorun))\n"
    "kernel void square(void)\n"
    "{\n"
    "    while (1) {\n"
    "        float x = read_channel_intel(numbers);\n"
    "        write_channel_intel(squares, x * x);\n"
    "    }\n"
    "}\n"
    "kernel void consume(global float *sums, int groups, int size)\n"
    "{\n"
    "    for (int i = 0; i < groups; i++) {\n"
    "        float sum = 0;\n"
    "        for (int j = 0; j < size; j++) {\n"
    "            float x = read_channel_intel(squares);\n"
    "            for (int k = 0; k < 20000; k++) x = sqrt(x * x);\n"
    "            sum += x;\n"
    "        }\n"
    "        sums[i] = sum;\n"
    "    }\n"
    "}\n";

static void check(cl_int status, const char *call)
{
    if (status != CL_SUCCESS) {
        fprintf(stderr, "pipeline: %s: status %d\n", call, status);
        exit(1);
    }
}

static cl_kernel kernel_of(cl_program program, const char *name)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    check(status, name);
    return kernel;
}

static cl_mem buffer_of(cl_context context, cl_mem_flags flags, size_t size)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, flags, size, NULL, &status);
    check(status, "clCreateBuffer");
    return buffer;
}

static cl_command_queue queue_of(cl_context context, cl_device_id device)
{
    cl_int status;
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    check(status, "clCreateCommandQueueWithProperties");
    return queue;
}

static void run(cl_command_queue queue, cl_kernel kernel)
{
    size_t one = 1;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL),
          "clEnqueueNDRangeKernel");
    check(clFlush(queue), "clFlush");
}

int main(void)
{
    static float numbers[COUNT], sums[COUNT / GROUP];
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    cl_int count = COUNT, groups = COUNT / GROUP, size = GROUP;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel produce = kernel_of(program, "produce"), consume = kernel_of(program, "consume");
    cl_command_queue producing = queue_of(context, device), consuming = queue_of(context, device);
    cl_mem in = buffer_of(context, CL_MEM_READ_ONLY, sizeof numbers);
    cl_mem out = buffer_of(context, CL_MEM_WRITE_ONLY, sizeof sums);

    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)(i % 16);
    check(clEnqueueWriteBuffer(producing, in, CL_FALSE, 0, sizeof numbers, numbers, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    check(clSetKernelArg(produce, 0, sizeof in, &in), "clSetKernelArg");
    check(clSetKernelArg(produce, 1, sizeof count, &count), "clSetKernelArg");
    check(clSetKernelArg(consume, 0, sizeof out, &out), "clSetKernelArg");
    check(clSetKernelArg(consume, 1, sizeof groups, &groups), "clSetKernelArg");
    check(clSetKernelArg(consume, 2, sizeof size, &size), "clSetKernelArg");
    run(producing, produce);
    run(consuming, consume);
    check(clEnqueueReadBuffer(consuming, out, CL_TRUE, 0, sizeof sums, sums, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    check(clFinish(producing), "clFinish");

    for (int i = 0; i < COUNT / GROUP; i++) {
        float expected = 0;
        for (int j = 0; j < GROUP; j++)
            expected += numbers[GROUP * i + j] * numbers[GROUP * i + j];
        if (sums[i] != expected) {
            fprintf(stderr, "group %d: %g instead of %g\n", i, sums[i], expected);
            return 1;
        }
    }
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    clReleaseKernel(produce);
    clReleaseKernel(consume);
    clReleaseCommandQueue(producing);
    clReleaseCommandQueue(consuming);
    clReleaseProgram(program);
    clReleaseContext(context);
    printf("right\n");
    return 0;
}
