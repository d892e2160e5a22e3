/* SPDX-License-Identifier: Apache-2.0
 *
 * The host of docs/banks.md: c = a + b, with buffers where the board puts them (`first`), in banks
 * that the host names (`apart`), or in a memory that the kernel names, which the host says to the
 * driver too late (`late`) or in time (`early`). */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <CL/cl_ext_intelfpga.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 4 << 20, BYTES = COUNT * sizeof(float), REPEATS = 4 };

#define ADD(PLACE)                                                                                 \
    "__attribute__((num_simd_work_items(16), reqd_work_group_size(64, 1, 1)))\n"                   \
    "kernel void add(global " PLACE " const float *restrict a,\n"                                  \
    "                global " PLACE " const float *restrict b,\n"                                  \
    "                global " PLACE " float *restrict c) {\n"                                      \
    "    size_t i = get_global_id(0);\n"                                                           \
    "    c[i] = a[i] + b[i];\n"                                                                    \
    "}\n"

static const char *const ANYWHERE = ADD("");
static const char *const IN_HBM = ADD("__attribute__((buffer_location(\"HBM\")))");

static void need(cl_int status, const char *what)
{
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s: %d\n", what, status);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "first";
    int apart = strcmp(way, "apart") == 0, late = strcmp(way, "late") == 0;
    int early = strcmp(way, "early") == 0;
    const cl_mem_flags banks[3] = {apart ? CL_CHANNEL_1_INTELFPGA : 0,
                                   apart ? CL_CHANNEL_2_INTELFPGA : 0,
                                   apart ? CL_CHANNEL_2_INTELFPGA : 0};
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    need(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    need(status, "clCreateCommandQueueWithProperties");
    const char *source = late || early ? IN_HBM : ANYWHERE;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    need(status, "clCreateProgramWithSource");
    need(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "add", &status);
    need(status, "clCreateKernel");

    float *values = aligned_alloc(64, BYTES); /* for the DMA engine */
    if (values == NULL)
        return 1;
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)i;
    cl_mem buffers[3];
    for (cl_uint i = 0; i < 3; i++) {
        buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE | banks[i], BYTES, NULL, &status);
        need(status, "clCreateBuffer");
        if (early)
            need(clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers[i]), "clSetKernelArg");
        if (i < 2)
            need(clEnqueueWriteBuffer(queue, buffers[i], CL_TRUE, 0, BYTES, values, 0, NULL, NULL),
                 "clEnqueueWriteBuffer");
        if (!early)
            need(clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers[i]), "clSetKernelArg");
    }
    const size_t size = COUNT, group = 64;
    for (int i = 0; i < REPEATS; i++)
        need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, &group, 0, NULL, NULL),
             "clEnqueueNDRangeKernel");
    need(clEnqueueReadBuffer(queue, buffers[2], CL_TRUE, 0, BYTES, values, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    int right = 1;
    for (int i = 0; i < COUNT; i++)
        right &= values[i] == 2 * (float)i;
    puts(right ? "right" : "wrong");
    free(values);
    for (int i = 0; i < 3; i++)
        clReleaseMemObject(buffers[i]);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return !right;
}
