/* SPDX-License-Identifier: Apache-2.0
 *
 * builds NUMBER LATER: how long clBuildProgram takes, the first time in a process, for LATER other
 * sources, and for those again. The sources have the NUMBER in them. Prints a name and milliseconds
 * per line. */
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

static void write_source(char *source, int number, int which)
{
    sprintf(source, "kernel void scale(global int *x) { x[get_global_id(0)] *= %d * 1000 + %d; }",
            number, which);
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    int number = atoi(arguments[1]), later = atoi(arguments[2]);
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    char source[256];
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    write_source(source, number, 0);
    printf("first %f\n", build(context, device, source));
    for (int i = 1; i <= later; i++) {
        write_source(source, number, i);
        printf("new %f\n", build(context, device, source));
    }
    for (int i = 1; i <= later; i++) {
        write_source(source, number, i);
        printf("known %f\n", build(context, device, source));
    }
    return 0;
}
