/* SPDX-License-Identifier: Apache-2.0
 *
 * How long clBuildProgram takes: the first time in a process, for sources that no cache knows, and
 * for sources that were built before. Prints a name and milliseconds per line. */
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SOURCES = 9 };

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static double build(cl_context context, cl_device_id device, const char *source)
{
    cl_int status;
    double begin = now_ms();
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    if (status != CL_SUCCESS || clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
        exit(1);
    cl_kernel kernel = clCreateKernel(program, "scale", &status);
    if (status != CL_SUCCESS)
        exit(1);
    double took = now_ms() - begin;
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return took;
}

static void write_source(char *source, unsigned number)
{
    sprintf(source, "kernel void scale(global int *x) { x[get_global_id(0)] *= %d + %u; }",
            (int)getpid(), number);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    char source[256];
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    write_source(source, 0);
    printf("first %f\n", build(context, device, source));
    for (unsigned i = 1; i <= SOURCES; i++) {
        write_source(source, i);
        printf("new %f\n", build(context, device, source));
    }
    for (unsigned i = 1; i <= SOURCES; i++) {
        write_source(source, i);
        printf("known %f\n", build(context, device, source));
    }
    return 0;
}
