/* SPDX-License-Identifier: Apache-2.0
 *
 * A host that does with its first device what it reads, a letter a line, and says a line each time:
 * "o" opens it (a context), "c" closes it, "a" asks whether it is available, "r" runs a kernel on
 * numbers, "f" looks for bytes in its memory that are not 0, "w" fills that with others. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 1 << 18 };

static const char source[] = "channel int between __attribute__((depth(8)));"
                             "kernel void give(global const int *data, int count) {"
                             "    for (int i = 0; i < count; i++)"
                             "        write_channel_intel(between, data[i]);"
                             "}"
                             "kernel void add(global int *data, int count) {"
                             "    for (int i = 0; i < count; i++)"
                             "        data[i] = read_channel_intel(between) + 1;"
                             "}";
static cl_device_id device;
static cl_context context;
static cl_command_queue queues[2];
static int numbers[NUMBERS];

static cl_int open_device(void)
{
    cl_int status;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    for (int i = 0; i < 2 && status == CL_SUCCESS; i++)
        queues[i] = clCreateCommandQueue(context, device, 0, &status);
    return status;
}

static cl_int close_device(void)
{
    for (int i = 0; i < 2; i++)
        clReleaseCommandQueue(queues[i]);
    return clReleaseContext(context);
}

static cl_int is_available(void)
{
    cl_bool available;
    cl_int status =
        clGetDeviceInfo(device, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
    return status != CL_SUCCESS ? status : (cl_int)available;
}

static cl_int run_in(cl_program program, cl_mem buffer)
{
    static const char *const names[] = {"give", "add"};
    const int count = 1000;
    const size_t one = 1;
    cl_int status = CL_SUCCESS;
    for (int i = 0; i < 2 && status == CL_SUCCESS; i++) {
        cl_kernel kernel = clCreateKernel(program, names[i], &status);
        clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
        clSetKernelArg(kernel, 1, sizeof count, &count);
        status = clEnqueueNDRangeKernel(queues[i], kernel, 1, NULL, &one, &one, 0, NULL, NULL);
        clFlush(queues[i]);
        clReleaseKernel(kernel);
    }
    for (int i = 0; i < 2 && status == CL_SUCCESS; i++)
        status = clFinish(queues[i]);
    if (status == CL_SUCCESS)
        status = clEnqueueReadBuffer(queues[0], buffer, CL_TRUE, 0, count * sizeof(int), numbers, 0,
                                     NULL, NULL);
    for (int i = 0; i < count && status == CL_SUCCESS; i++)
        status = numbers[i] == i + 1 ? CL_SUCCESS : 1;
    return status;
}

static cl_int run(void)
{
    const char *text = source;
    cl_int status;
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = i;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    status = clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   sizeof numbers, numbers, NULL);
    if (status == CL_SUCCESS)
        status = run_in(program, buffer);
    clReleaseMemObject(buffer);
    clReleaseProgram(program);
    return status;
}

/* How many numbers that nobody has written here are not 0. */
static cl_int find(void)
{
    cl_int found = 0;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof numbers, NULL, NULL);
    clEnqueueReadBuffer(queues[0], buffer, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL);
    for (int i = 0; i < NUMBERS; i++)
        found += numbers[i] != 0;
    clReleaseMemObject(buffer);
    return found;
}

static cl_int fill(void)
{
    memset(numbers, 0x55, sizeof numbers);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof numbers, NULL, NULL);
    cl_int status =
        clEnqueueWriteBuffer(queues[0], buffer, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL);
    clReleaseMemObject(buffer);
    return status;
}

int main(void)
{
    char line[16];
    cl_platform_id platform;
    cl_int status = clGetPlatformIDs(1, &platform, NULL);
    if (status == CL_SUCCESS)
        status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    while (status == CL_SUCCESS && fgets(line, sizeof line, stdin) != NULL) {
        cl_int result = -1000;
        switch (line[0]) {
        case 'o':
            result = open_device();
            break;
        case 'c':
            result = close_device();
            break;
        case 'a':
            result = is_available();
            break;
        case 'r':
            result = run();
            break;
        case 'f':
            result = find();
            break;
        case 'w':
            result = fill();
            break;
        }
        printf("%c %d\n", line[0], result);
        fflush(stdout);
    }
    return status == CL_SUCCESS ? 0 : 1;
}
