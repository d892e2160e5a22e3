/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects that shapes share, and calls that end the program when they fail. */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Ten more parameters. ## of OpenCL C would join their names, but makes a program count as one
 * whose kernels may poll. */
#define TEN(n)                                                                                     \
    ", int " n "0, int " n "1, int " n "2, int " n "3, int " n "4, int " n "5, int " n "6, int " n \
    "7, int " n "8, int " n "9"

static const char *const source =
    "kernel void add(global int *x, global const int *y, int n)\n"
    "{ size_t i = get_global_id(0); if (i < 64) x[i] += y[i] + n; }\n"
    "kernel void scale(global int *x, global const int *y, int n)\n"
    "{ size_t i = get_global_id(0); if (i < 64) x[i] = y[i] * n; }\n"
    "kernel void poll(global int *x, global const volatile int *y, "
    "int n)\n"
    "{ size_t i = get_global_id(0); while (y[0] < 0); "
    "if (i < 64) x[i] += n; }\n"
    "typedef struct { int a, b, c, d; } four;\n"
    "kernel void shift(global int *x, four n)\n"
    "{ size_t i = get_global_id(0); if (i < 64) x[i] += n.b; }\n"
    "typedef struct { int all[150]; } large;\n"
    "kernel void many(global int *x, large n" TEN("a") TEN("b") TEN("c") TEN("d") TEN("e") TEN("f")
        TEN("g") ")\n"
                 "{ size_t i = get_global_id(0); "
                 "if (i < 64) x[i] += n.all[149] + g9; }\n";

static cl_device_id device;
static cl_program programs[PROGRAMS];
cl_context context;
cl_kernel kernels[PROGRAMS];
cl_mem buffers[BUFFERS];
cl_command_queue queue;

void must(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: status %d\n", what, status);
    exit(1);
}

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

int has_svm(void)
{
    cl_device_svm_capabilities found = 0;
    return clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof found, &found, NULL) ==
               CL_SUCCESS &&
           found != 0;
}

cl_command_queue new_queue(cl_command_queue_properties properties)
{
    cl_int status;
    cl_command_queue made = clCreateCommandQueue(context, device, properties, &status);
    must(status, "clCreateCommandQueue");
    return made;
}

cl_kernel new_kernel(const char *name)
{
    cl_int status;
    cl_kernel made = clCreateKernel(programs[0], name, &status);
    must(status, "clCreateKernel");
    return made;
}

cl_mem new_buffer(cl_mem_flags flags, size_t size, void *data)
{
    cl_int status;
    cl_mem made = clCreateBuffer(context, flags, size, data, &status);
    must(status, "clCreateBuffer");
    return made;
}

void set(cl_kernel kernel, cl_mem x, cl_mem y, cl_int n)
{
    must(clSetKernelArg(kernel, 0, sizeof x, &x), "clSetKernelArg, x");
    must(clSetKernelArg(kernel, 1, sizeof y, &y), "clSetKernelArg, y");
    must(clSetKernelArg(kernel, 2, sizeof n, &n), "clSetKernelArg, n");
}

void launch_of(cl_command_queue on, cl_kernel kernel, size_t items, cl_uint waits,
               const cl_event *list, cl_event *event)
{
    const size_t group = ITEMS;
    must(clEnqueueNDRangeKernel(on, kernel, 1, NULL, &items, &group, waits, list, event),
         "clEnqueueNDRangeKernel");
}

void launch(void)
{
    launch_of(queue, kernels[0], ITEMS, 0, NULL, NULL);
}

cl_event launch_event(void)
{
    cl_event event;
    launch_of(queue, kernels[0], ITEMS, 0, NULL, &event);
    return event;
}

void finish(void)
{
    must(clFinish(queue), "clFinish");
}

void wait_and_release(cl_event event)
{
    must(clWaitForEvents(1, &event), "clWaitForEvents");
    must(clReleaseEvent(event), "clReleaseEvent");
}

void read_small(cl_mem from, cl_bool blocking, cl_int *into, cl_uint waits, const cl_event *list,
                cl_event *event)
{
    must(clEnqueueReadBuffer(queue, from, blocking, 0, SMALL, into, waits, list, event),
         "clEnqueueReadBuffer");
}

cl_ulong running_time(cl_event event)
{
    cl_ulong start, end;
    must(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL),
         "CL_PROFILING_COMMAND_START");
    must(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL),
         "CL_PROFILING_COMMAND_END");
    if (end < start) {
        fprintf(stderr, "a kernel ended before it started\n");
        exit(1);
    }
    return end - start;
}

void clear_buffers(void)
{
    const cl_int zero = 0;
    for (int i = 0; i < BUFFERS; i++)
        must(clEnqueueFillBuffer(queue, buffers[i], &zero, sizeof zero, 0, LARGE, 0, NULL, NULL),
             "clEnqueueFillBuffer");
    finish();
}

void start(void)
{
    cl_platform_id platform;
    cl_int status;
    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    must(status, "clCreateContext");
    for (int i = 0; i < BUFFERS; i++)
        buffers[i] = new_buffer(CL_MEM_READ_WRITE, LARGE, NULL);
    for (int i = 0; i < PROGRAMS; i++) {
        char options[32];
        snprintf(options, sizeof options, "-DNUMBER=%d", i);
        programs[i] = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &status);
        must(status, "clCreateProgramWithSource");
        must(clBuildProgram(programs[i], 1, &device, options, NULL, NULL), "clBuildProgram");
        kernels[i] = clCreateKernel(programs[i], "add", &status);
        must(status, "clCreateKernel");
        set(kernels[i], buffers[0], buffers[1], 1);
    }
}
