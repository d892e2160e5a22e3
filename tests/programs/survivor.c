/* SPDX-License-Identifier: Apache-2.0
 *
 * A host whose board process is killed by somebody all the time. Until its standard input ends,
 * four threads launch, write and read. What a command that succeeded wrote has to be right, and so
 * has what no kernel writes. Prints how many launches went well, failed, and what was wrong. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 65536, THREADS = 4 };

static const char source[] =
    "kernel void scale(global const int *in, global int *out, int factor) {"
    "    size_t i = get_global_id(0);"
    "    out[i] = in[i] * factor;"
    "}"
    "kernel void slowly(global const int *in, global int *out, int factor) {"
    "    size_t i = get_global_id(0);"
    "    int sum = 0;"
    "    for (int n = 0; n < 2000; n++) sum += in[(i + n) % get_global_size(0)] & 1;"
    "    out[i] = in[i] * factor + (sum < 0);"
    "}";
static atomic_long well, failed, wrong;
static atomic_bool over;
static cl_context context;
static cl_device_id device;

static void must(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    fflush(stdout);
    _exit(1);
}

static void say(const char *words)
{
    printf("%s\n", words);
    fflush(stdout);
}

static cl_mem buffer(const int *data)
{
    cl_int status;
    cl_mem made =
        clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, COUNT * sizeof *data, (void *)data, &status);
    must(status, "clCreateBuffer");
    return made;
}

static cl_kernel kernel(const char *name)
{
    const char *text = source;
    cl_kernel made = NULL;
    for (int tries = 0; made == NULL && tries < 20; tries++) { /* builds die with the process */
        cl_int status;
        cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
        if (status == CL_SUCCESS &&
            clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS)
            made = clCreateKernel(program, name, &status);
        if (program != NULL)
            clReleaseProgram(program);
    }
    if (made == NULL)
        must(CL_BUILD_PROGRAM_FAILURE, "no kernel in twenty tries");
    return made;
}

static void compare(cl_command_queue queue, cl_mem of, const int *in, int factor)
{
    static __thread int found[COUNT];
    must(clEnqueueReadBuffer(queue, of, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL), "read");
    for (int i = 0; i < COUNT; i++)
        if (found[i] != in[i] * factor) {
            atomic_fetch_add(&wrong, 1);
            return;
        }
}

static cl_int status_of(cl_event event)
{
    cl_int status;
    must(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL),
         "clGetEventInfo");
    clReleaseEvent(event);
    return status;
}

static void *work(void *data)
{
    int number = (int)(long)data, *in = malloc(COUNT * sizeof *in);
    cl_int status;
    for (int i = 0; i < COUNT; i++)
        in[i] = i ^ number;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    must(status, "clCreateCommandQueue");
    cl_mem from = buffer(in), to = buffer(in);
    cl_kernel run = kernel(number % 2 ? "slowly" : "scale");
    const size_t items = COUNT;
    for (int factor = 1; !over; factor = factor % 1000 + 1) {
        cl_event event;
        status = clSetKernelArg(run, 0, sizeof from, &from) |
                 clSetKernelArg(run, 1, sizeof to, &to) |
                 clSetKernelArg(run, 2, sizeof factor, &factor);
        if (status == CL_SUCCESS)
            status = clEnqueueNDRangeKernel(queue, run, 1, NULL, &items, NULL, 0, NULL, &event);
        if (status == CL_SUCCESS) {
            clFinish(queue);
            status = status_of(event);
        }
        long before = atomic_fetch_add(status == CL_COMPLETE ? &well : &failed, 1);
        if (status == CL_COMPLETE)
            compare(queue, to, in, factor);
        if (status == CL_COMPLETE && before % 8 == 0)
            say("runs");
        compare(queue, from, in, 1);
        if (factor % 16 == 0)
            must(clEnqueueWriteBuffer(queue, from, CL_FALSE, 0, COUNT * sizeof *in, in, 0, NULL,
                                      NULL),
                 "write");
    }
    return NULL;
}

int main(void)
{
    cl_platform_id platform;
    cl_int status;
    pthread_t threads[THREADS];
    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    must(status, "clCreateContext");
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    while (getchar() != EOF)
        ;
    over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("well %ld failed %ld wrong %ld\n", well, failed, wrong);
    return wrong > 0 || well == 0;
}
