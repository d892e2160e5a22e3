/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a kernel on the first device and prints the board's name, the sum that the kernel made, and
 * whether the loader of programs takes this process for one with other rights than its user's. */
#include <CL/cl.h>

#include <stdio.h>
#include <sys/auxv.h>

static const char *const source = "__kernel void add(__global int *a, int b) { a[0] += b; }";

static int fail(const char *call, cl_int status)
{
    fprintf(stderr, "%s: %d\n", call, status);
    return 1;
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status = clGetPlatformIDs(1, &platform, NULL);
    if (status != CL_SUCCESS)
        return fail("clGetPlatformIDs", status);
    status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    if (status != CL_SUCCESS)
        return fail("clGetDeviceIDs", status);
    char name[256] = "";
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    cl_program program =
        clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &status);
    status = clBuildProgram(program, 0, NULL, "", NULL, NULL);
    if (status != CL_SUCCESS)
        return fail("clBuildProgram", status);
    cl_kernel kernel = clCreateKernel(program, "add", &status);
    cl_int value = 40, more = 2;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof value, &value, &status);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clSetKernelArg(kernel, 1, sizeof more, &more);
    const size_t one = 1;
    status = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
    if (status != CL_SUCCESS)
        return fail("clEnqueueNDRangeKernel", status);
    status = clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL);
    if (status != CL_SUCCESS)
        return fail("clEnqueueReadBuffer", status);
    printf("%s: %d, secure %lu\n", name, value, getauxval(AT_SECURE));
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
