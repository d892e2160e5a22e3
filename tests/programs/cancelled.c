/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that is to be cancelled, and makes one call before that: the call returns, and the next
 * calls of other threads work. The argument names the call. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 64, LAUNCHES = 40 };

static const char source[] = "kernel void add(global int *x) { x[get_global_id(0)]++; }";
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_kernel kernel;
static cl_mem buffer;
static cl_event event;
static int has_returned, numbers[COUNT], launches;

static void must(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

static void start(void)
{
    cl_platform_id platform;
    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_int status;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    must(status, "clCreateContext");
}

static void build(void)
{
    const char *text = source;
    cl_int status;
    program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    must(status, "clCreateProgramWithSource");
    must(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
}

static void write_all(void)
{
    must(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
}

static void finish(void)
{
    must(clFinish(queue), "clFinish");
}

static void wait_for_event(void)
{
    must(clWaitForEvents(1, &event), "clWaitForEvents");
}

static void launch(void)
{
    size_t size = COUNT;
    must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL,
                                event == NULL ? &event : NULL),
         "clEnqueueNDRangeKernel");
    launches++;
}

static void make_all(void)
{
    cl_int status;
    queue = clCreateCommandQueue(context, device, 0, &status);
    must(status, "clCreateCommandQueue");
    if (program == NULL)
        build();
    kernel = clCreateKernel(program, "add", &status);
    must(status, "clCreateKernel");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof numbers, NULL, &status);
    must(status, "clCreateBuffer");
    must(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
    write_all();
    launch();
}

/* Rows of launches recur, and C has the last one run. */
static void make_recurring(void)
{
    make_all();
    finish();
    for (int row = 0; row < 4; row++) {
        for (int i = 0; i < LAUNCHES; i++)
            launch();
        if (row < 3)
            finish();
    }
}

static void nothing(void)
{
}

static const struct step {
    const char *name;
    void (*before)(void), (*call)(void);
} steps[] = {{"start", nothing, start},           {"build", start, build},
             {"write", make_all, write_all},      {"finish", make_all, finish},
             {"wait", make_all, wait_for_event},  {"launch", make_all, launch},
             {"recorded", make_recurring, finish}};

static void *call_and_end(void *call)
{
    pthread_cancel(pthread_self()); /* wherever the thread may be cancelled next */
    (*(void (*const *)(void))call)();
    has_returned = 1;
    pthread_testcancel();
    return NULL;
}

int main(int count, char **words)
{
    const struct step *step = steps;
    while (count < 2 || strcmp(step->name, words[1]) != 0)
        step++;
    if (step->before != nothing && step->before != start)
        start();
    step->before();
    pthread_t thread;
    void *result;
    must(pthread_create(&thread, NULL, call_and_end, (void *)&step->call), "pthread_create");
    must(pthread_join(thread, &result), "pthread_join");
    if (!has_returned || result != PTHREAD_CANCELED) {
        puts(has_returned ? "the thread cannot be cancelled any more" : "the call did not return");
        return 1;
    }
    if (queue == NULL)
        make_all();
    finish();
    must(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    printf("%s\n", numbers[COUNT - 1] == launches || step->call == write_all ? "right" : "wrong");
    return 0;
}
