/* SPDX-License-Identifier: Apache-2.0
 *
 * A host whose kernel misbehaves: misbehaving SOURCE alone|two
 * Runs `bad` of the source, says how that ended, and what it was told; then whether a good kernel
 * is right on a buffer that the bad one did not have. With `two`, another thread launches the good
 * kernel all the time on a queue and a buffer of its own. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 1024
static const char good_source[] =
    "kernel void good(global int *data) { data[get_global_id(0)] += 1; }";

struct board {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem buffer;
};

static atomic_int stop;

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
    fflush(stdout);
}

static cl_program build(const struct board *board, const char *source, cl_int *status)
{
    cl_program program = clCreateProgramWithSource(board->context, 1, &source, NULL, status);
    check(*status, "clCreateProgramWithSource");
    *status = clBuildProgram(program, 1, &board->device, "", NULL, NULL);
    if (*status != CL_SUCCESS) {
        static char log[65536];
        clGetProgramBuildInfo(program, board->device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        log[strcspn(log, "\n")] = '\0';
        printf("log %s\n", log);
    }
    return program;
}

static void prepare(struct board *board, cl_kernel kernel)
{
    cl_int status, data[COUNT];
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    board->kernel = kernel;
    board->queue = clCreateCommandQueue(board->context, board->device, 0, &status);
    check(status, "clCreateCommandQueue");
    board->buffer =
        clCreateBuffer(board->context, CL_MEM_COPY_HOST_PTR, sizeof data, data, &status);
    check(status, "clCreateBuffer");
    check(clSetKernelArg(board->kernel, 0, sizeof board->buffer, &board->buffer), "clSetKernelArg");
}

/* The status that the launch ended with. */
static cl_int run(const struct board *board, size_t items)
{
    cl_event event;
    cl_int status;
    check(
        clEnqueueNDRangeKernel(board->queue, board->kernel, 1, NULL, &items, NULL, 0, NULL, &event),
        "clEnqueueNDRangeKernel");
    clFinish(board->queue);
    check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL),
          "clGetEventInfo");
    clReleaseEvent(event);
    return status;
}

static int is_right(const struct board *board, int increments)
{
    cl_int data[COUNT];
    check(clEnqueueReadBuffer(board->queue, board->buffer, CL_TRUE, 0, sizeof data, data, 0, NULL,
                              NULL),
          "clEnqueueReadBuffer");
    for (int i = 0; i < COUNT; i++)
        if (data[i] != i + increments)
            return 0;
    return 1;
}

/* Launches until a launch fails or it is told to stop; all before have to be right. */
static void *launch_always(void *data)
{
    struct board *board = data;
    int done = 0, failed = 0;
    while (!atomic_load(&stop) && !failed) {
        failed = run(board, COUNT) != CL_COMPLETE;
        done += !failed;
    }
    if (!failed && !is_right(board, done))
        printf("wrong after %d\n", done);
    return NULL;
}

static char *contents(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    text[length] = '\0';
    return text;
}

int main(int count, char **arguments)
{
    struct board bad = {0}, good, other;
    cl_platform_id platform;
    cl_int status, lowest;
    pthread_t thread;
    int two = count > 2 && strcmp(arguments[2], "two") == 0;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &bad.device, NULL), "clGetDeviceIDs");
    bad.context = clCreateContext(NULL, 1, &bad.device, told, NULL, &status);
    check(status, "clCreateContext");
    good = other = bad;
    cl_program innocent = build(&good, good_source, &status);
    check(status, "clBuildProgram");
    prepare(&good, clCreateKernel(innocent, "good", &status));
    prepare(&other, clCreateKernel(innocent, "good", &status));
    status = run(&good, COUNT);
    printf("first %d %d\n", status, is_right(&good, 1));
    cl_program program = build(&bad, contents(arguments[1]), &lowest);
    if (lowest == CL_SUCCESS) {
        prepare(&bad, clCreateKernel(program, "bad", &status));
        cl_ulong secret = (cl_ulong)(size_t)&lowest;
        clSetKernelArg(bad.kernel, 1, sizeof secret, &secret);
        if (two)
            pthread_create(&thread, NULL, launch_always, &other);
        lowest = run(&bad, 1);
        atomic_store(&stop, 1);
        if (two)
            pthread_join(thread, NULL);
    }
    printf("\nstatus %d\n", lowest);
    int right = is_right(&good, 1);
    status = run(&good, COUNT);
    printf("next %d %d\n", status, right && is_right(&good, 2));
    printf("alive\n");
    return 0;
}
