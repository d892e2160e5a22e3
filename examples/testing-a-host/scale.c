/* SPDX-License-Identifier: Apache-2.0
 *
 * scale FACTOR: numbers from stdin, multiplied on the first accelerator, to stdout.
 *
 * cc scale.c -o scale -lOpenCL */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static const char *source = "__kernel void scale(__global float *x, float factor)\n"
                            "{\n"
                            "    x[get_global_id(0)] *= factor;\n"
                            "}\n";

static void check(cl_int status, const char *call)
{
    if (status != CL_SUCCESS) {
        fprintf(stderr, "scale: %s: status %d\n", call, status);
        exit(1);
    }
}

static float *read_numbers(size_t *count)
{
    size_t room = 16;
    float *numbers = malloc(room * sizeof *numbers);
    *count = 0;
    while (numbers != NULL && scanf("%f", &numbers[*count]) == 1)
        if (++*count == room)
            numbers = realloc(numbers, (room *= 2) * sizeof *numbers);
    if (numbers == NULL) {
        fprintf(stderr, "scale: out of memory\n");
        exit(1);
    }
    return numbers;
}

static void scale(float *numbers, size_t count, float factor)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    size_t size = count * sizeof *numbers;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ACCELERATOR, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    check(status, "clCreateCommandQueueWithProperties");
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "scale", &status);
    check(status, "clCreateKernel");
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);
    check(status, "clCreateBuffer");
    check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof factor, &factor), "clSetKernelArg");
    check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, size, numbers, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    cl_event
        scaled; /* an in-order queue goes on after a kernel that failed; a wait list does not */
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, &scaled),
          "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, numbers, 1, &scaled, NULL),
          "clEnqueueReadBuffer");
    clReleaseEvent(scaled);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

int main(int count_of_words, char **words)
{
    if (count_of_words != 2) {
        fprintf(stderr, "usage: scale FACTOR < NUMBERS\n");
        return 2;
    }
    size_t count;
    float *numbers = read_numbers(&count);
    if (count > 0)
        scale(numbers, count, strtof(words[1], NULL));
    for (size_t i = 0; i < count; i++)
        printf("%g\n", numbers[i]);
    free(numbers);
    return 0;
}
