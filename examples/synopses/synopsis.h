/* SPDX-License-Identifier: Apache-2.0
 *
 * What each host here begins with: the first device, a context, a queue, a program. */
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

#define HELPER __attribute__((unused)) static

HELPER void check(cl_int status, const char *call)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: status %d\n", call, status);
    exit(1);
}

HELPER void begin(void)
{
    cl_int status;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    check(status, "clCreateCommandQueueWithProperties");
}

HELPER cl_kernel kernel_of(const char *source, const char *name)
{
    cl_int status;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, name, &status);
    check(status, "clCreateKernel");
    check(clReleaseProgram(program), "clReleaseProgram");
    return kernel;
}

HELPER cl_mem buffer_of(cl_mem_flags flags, size_t size)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, flags, size, NULL, &status);
    check(status, "clCreateBuffer");
    return buffer;
}

HELPER void set(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    check(clSetKernelArg(kernel, index, size, value), "clSetKernelArg");
}

HELPER int end(int wrong)
{
    check(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
    check(clReleaseContext(context), "clReleaseContext");
    puts(wrong ? "WRONG" : "right");
    return wrong != 0;
}
