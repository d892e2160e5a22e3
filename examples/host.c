/* SPDX-License-Identifier: Apache-2.0
 *
 * An ordinary OpenCL host: matrix multiply and a 1D stencil with local memory and barriers, checked
 * against the CPU. It takes the first device it finds.
 *
 * cc host.c -o host -lOpenCL */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 256, LENGTH = 1 << 16, GROUP = 64, RADIUS = 4 };

static const char *source =
    "__kernel void multiply(__global const float *a, __global const float *b, __global float *c, "
    "int n)\n"
    "{\n"
    "    int row = get_global_id(1), column = get_global_id(0);\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];\n"
    "    c[row * n + column] = sum;\n"
    "}\n"
    "__kernel void stencil(__global const float *in, __global float *out, __local float *tile, int "
    "r)\n"
    "{\n"
    "    int i = get_global_id(0), l = get_local_id(0), g = get_local_size(0), n = "
    "get_global_size(0);\n"
    "    tile[l + r] = in[i];\n"
    "    if (l < r) {\n"
    "        tile[l] = i >= r ? in[i - r] : 0;\n"
    "        tile[l + g + r] = i + g < n ? in[i + g] : 0;\n"
    "    }\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    float sum = 0;\n"
    "    for (int k = -r; k <= r; k++) sum += tile[l + r + k];\n"
    "    out[i] = sum / (2 * r + 1);\n"
    "}\n";

static void check(cl_int status, const char *call)
{
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s: status %d\n", call, status);
        exit(1);
    }
}

static cl_mem buffer(cl_context context, cl_mem_flags flags, size_t size, void *data)
{
    cl_int status;
    cl_mem made = clCreateBuffer(context, flags, size, data, &status);
    check(status, "clCreateBuffer");
    return made;
}

static float pseudo_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (1 << 24);
}

static int multiply(cl_context context, cl_command_queue queue, cl_program program)
{
    static float a[N * N], b[N * N], c[N * N];
    unsigned state = 1;
    for (int i = 0; i < N * N; i++) {
        a[i] = pseudo_random(&state);
        b[i] = pseudo_random(&state);
    }
    cl_int status, n = N;
    cl_kernel kernel = clCreateKernel(program, "multiply", &status);
    check(status, "clCreateKernel");
    cl_mem in_a = buffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof a, a);
    cl_mem in_b = buffer(context, CL_MEM_READ_ONLY, sizeof b, NULL);
    cl_mem out = buffer(context, CL_MEM_WRITE_ONLY, sizeof c, NULL);
    check(clEnqueueWriteBuffer(queue, in_b, CL_FALSE, 0, sizeof b, b, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    check(clSetKernelArg(kernel, 0, sizeof in_a, &in_a), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof in_b, &in_b), "clSetKernelArg");
    check(clSetKernelArg(kernel, 2, sizeof out, &out), "clSetKernelArg");
    check(clSetKernelArg(kernel, 3, sizeof n, &n), "clSetKernelArg");
    size_t global[2] = {N, N}, local[2] = {16, 16};
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL),
          "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof c, c, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    int wrong = 0;
    for (int row = 0; row < N; row++)
        for (int column = 0; column < N; column++) {
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += (double)a[row * N + k] * b[k * N + column];
            wrong += fabs(sum - c[row * N + column]) > 1e-3;
        }
    printf("multiply %d x %d: %s\n", N, N, wrong ? "WRONG" : "right");
    clReleaseMemObject(in_a);
    clReleaseMemObject(in_b);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    return wrong != 0;
}

static int stencil(cl_context context, cl_command_queue queue, cl_program program)
{
    static float in[LENGTH], out[LENGTH];
    unsigned state = 2;
    for (int i = 0; i < LENGTH; i++)
        in[i] = pseudo_random(&state);
    cl_int status, radius = RADIUS;
    cl_kernel kernel = clCreateKernel(program, "stencil", &status);
    check(status, "clCreateKernel");
    cl_mem from = buffer(context, CL_MEM_USE_HOST_PTR | CL_MEM_READ_ONLY, sizeof in, in);
    cl_mem to = buffer(context, CL_MEM_READ_WRITE, sizeof out, NULL);
    check(clSetKernelArg(kernel, 0, sizeof from, &from), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof to, &to), "clSetKernelArg");
    check(clSetKernelArg(kernel, 2, (GROUP + 2 * RADIUS) * sizeof(float), NULL), "clSetKernelArg");
    check(clSetKernelArg(kernel, 3, sizeof radius, &radius), "clSetKernelArg");
    size_t global = LENGTH, local = GROUP;
    cl_event ran;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, &ran),
          "clEnqueueNDRangeKernel");
    const float *mapped =
        clEnqueueMapBuffer(queue, to, CL_TRUE, CL_MAP_READ, 0, sizeof out, 1, &ran, NULL, &status);
    check(status, "clEnqueueMapBuffer");
    int wrong = 0;
    for (int i = 0; i < LENGTH; i++) {
        double sum = 0;
        for (int k = -RADIUS; k <= RADIUS; k++)
            sum += i + k >= 0 && i + k < LENGTH ? in[i + k] : 0;
        wrong += fabs(sum / (2 * RADIUS + 1) - mapped[i]) > 1e-5;
    }
    printf("stencil of %d points: %s\n", LENGTH, wrong ? "WRONG" : "right");
    check(clEnqueueUnmapMemObject(queue, to, (void *)mapped, 0, NULL, NULL),
          "clEnqueueUnmapMemObject");
    check(clFinish(queue), "clFinish");
    clReleaseEvent(ran);
    clReleaseMemObject(from);
    clReleaseMemObject(to);
    clReleaseKernel(kernel);
    return wrong != 0;
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    char name[256];
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    check(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL), "clGetDeviceInfo");
    printf("device: %s\n", name);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    check(status, "clCreateCommandQueueWithProperties");
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    int failed = multiply(context, queue, program) + stencil(context, queue, program);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return failed != 0;
}
