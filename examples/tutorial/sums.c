/* SPDX-License-Identifier: Apache-2.0
 *
 * A running sum of weighted lines, with three mistakes that docs/tutorial.md finds: a needless
 * copy, a race, and a host that reaches into the device's memory.
 *
 * cc -g sums.c -o sums -lOpenCL */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 20, WEIGHTS = 16, SIZE = COUNT * sizeof(float) };

static const char *source =
    "__kernel void add(__global const float *line, __global const float *weights,\n"
    "                  __global float *sums)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    sums[i] += weights[i % 16] * line[i];\n"
    "}\n";

static float line[COUNT], result[COUNT];

static void check(cl_int status, const char *call)
{
    if (status != CL_SUCCESS) {
        fprintf(stderr, "sums: %s: status %d\n", call, status);
        exit(1);
    }
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue moves = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    check(status, "clCreateCommandQueueWithProperties");
    cl_command_queue runs = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    check(status, "clCreateCommandQueueWithProperties");
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel add = clCreateKernel(program, "add", &status);
    check(status, "clCreateKernel");
    clDeviceMemAllocINTEL_fn device_alloc =
        (clDeviceMemAllocINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform,
                                                                           "clDeviceMemAllocINTEL");
    clSetKernelArgMemPointerINTEL_fn set_pointer =
        (clSetKernelArgMemPointerINTEL_fn)clGetExtensionFunctionAddressForPlatform(
            platform, "clSetKernelArgMemPointerINTEL");
    clMemBlockingFreeINTEL_fn blocking_free =
        (clMemBlockingFreeINTEL_fn)clGetExtensionFunctionAddressForPlatform(
            platform, "clMemBlockingFreeINTEL");

    for (int i = 0; i < COUNT; i++)
        line[i] = (float)i;
    float *weights = device_alloc(context, device, NULL, WEIGHTS * sizeof *weights, 0, &status);
    check(status, "clDeviceMemAllocINTEL");
    for (int i = 0; i < WEIGHTS; i++)
        weights[i] = 0.5f;

    cl_mem on_board = clCreateBuffer(context, CL_MEM_READ_ONLY, SIZE, NULL, &status);
    check(status, "clCreateBuffer");
    check(clEnqueueWriteBuffer(moves, on_board, CL_FALSE, 0, SIZE, line, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    cl_mem sums = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    check(status, "clCreateBuffer");
    float *mapped =
        clEnqueueMapBuffer(moves, sums, CL_TRUE, CL_MAP_WRITE, 0, SIZE, 0, NULL, NULL, &status);
    check(status, "clEnqueueMapBuffer");
    for (int i = 0; i < COUNT; i++)
        mapped[i] = 1;
    check(clEnqueueUnmapMemObject(moves, sums, mapped, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    check(clFlush(moves), "clFlush");

    check(clSetKernelArg(add, 0, sizeof on_board, &on_board), "clSetKernelArg");
    check(set_pointer(add, 1, weights), "clSetKernelArgMemPointerINTEL");
    check(clSetKernelArg(add, 2, sizeof sums, &sums), "clSetKernelArg");
    size_t count = COUNT;
    check(clEnqueueNDRangeKernel(runs, add, 1, NULL, &count, NULL, 0, NULL, NULL),
          "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(runs, sums, CL_TRUE, 0, SIZE, result, 0, NULL, NULL),
          "clEnqueueReadBuffer");

    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += result[i] != 1 + 0.5f * (float)i;
    printf("%s\n", wrong ? "WRONG" : "right");
    check(clFinish(moves), "clFinish");
    check(blocking_free(context, weights), "clMemBlockingFreeINTEL");
    clReleaseMemObject(on_board);
    clReleaseMemObject(sums);
    clReleaseKernel(add);
    clReleaseProgram(program);
    clReleaseCommandQueue(moves);
    clReleaseCommandQueue(runs);
    clReleaseContext(context);
    return wrong != 0;
}
