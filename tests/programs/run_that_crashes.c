/* SPDX-License-Identifier: Apache-2.0
 *
 * A host one of whose launches crashes: run_that_crashes COUNT NUMBER [events]
 * Enqueues COUNT launches of one kernel without a wait in between, often enough before that they
 * are recorded. The one with that number writes far past its buffer. Says how each ended, where it
 * keeps their events, what it was told, and how often each launch ran. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 512
static const char source[] = "kernel void mark(global int *ran, int number, ulong beyond) {\n"
                             "    ran[number]++;\n"
                             "    ran[beyond] = 1;\n"
                             "}\n";

static void check(cl_int status, const char *what)
{
    if (status != CL_SUCCESS) {
        printf("failed %s %d\n", what, status);
        fflush(stdout);
        exit(1);
    }
}

static void CL_CALLBACK told(const char *words, const void *info, size_t size, void *data)
{
    (void)info, (void)size, (void)data;
    printf("told %s\n", words);
}

/* Launches `count` times; the `crash`th crashes. */
static void launch(cl_command_queue queue, cl_kernel kernel, cl_int count, cl_int crash,
                   cl_event *events)
{
    const size_t one = 1;
    for (cl_int i = 0; i < count; i++) {
        cl_ulong beyond = i == crash ? (cl_ulong)1 << 34 : MOST;
        check(clSetKernelArg(kernel, 1, sizeof i, &i), "clSetKernelArg");
        check(clSetKernelArg(kernel, 2, sizeof beyond, &beyond), "clSetKernelArg");
        check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL,
                                     events != NULL ? &events[i] : NULL),
              "clEnqueueNDRangeKernel");
    }
}

int main(int count, char **arguments)
{
    cl_int launches = atoi(arguments[1]), crash = atoi(arguments[2]), status;
    cl_platform_id platform;
    cl_device_id device;
    static cl_event events[MOST];
    static cl_int ran[MOST + 1];
    const char *text = source;
    int keeps_events = count > 3 && strcmp(arguments[3], "events") == 0;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, told, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "mark", &status);
    check(status, "clCreateKernel");
    cl_mem buffer = clCreateBuffer(context, 0, sizeof ran, NULL, &status);
    check(status, "clCreateBuffer");
    check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
    for (int i = 0; i < 3; i++) {
        launch(queue, kernel, launches, -1, NULL);
        check(clFinish(queue), "clFinish");
    }
    check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof ran, ran, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    launch(queue, kernel, launches, crash, keeps_events ? events : NULL);
    printf("finish %d\n", clFinish(queue));
    for (cl_int i = 0; keeps_events && i < launches; i++) {
        check(clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                             NULL),
              "clGetEventInfo");
        printf("%s%d", i > 0 ? " " : "status ", status);
        clReleaseEvent(events[i]);
    }
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof ran, ran, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    printf("%s", keeps_events ? "\nran" : "ran");
    for (cl_int i = 0; i < launches; i++)
        printf(" %d", ran[i]);
    printf("\n");
    return 0;
}
