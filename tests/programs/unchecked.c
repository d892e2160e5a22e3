/* Checks each of its calls but one: where the buffer is not mapped, it writes to address 0. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *call, cl_int status)
{
    if (status != CL_SUCCESS)
        fprintf(stderr, "%s: %d\n", call, status);
    return status != CL_SUCCESS;
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    if (failed("clGetPlatformIDs", clGetPlatformIDs(1, &platform, NULL)) ||
        failed("clGetDeviceIDs", clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)))
        return 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (failed("clCreateContext", status))
        return 1;
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    if (failed("clCreateCommandQueueWithProperties", status))
        return 1;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &status);
    if (failed("clCreateBuffer", status))
        return 1;
    char *mapped =
        clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, 64, 0, NULL, NULL, &status);
    memset(mapped, 1, 64);
    return failed("clEnqueueUnmapMemObject",
                  clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
}
