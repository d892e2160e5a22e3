/* Launches the same kernels again and again, for a trace: in order and out of order, with and
 * without a local size, with a sub-buffer, behind a user event that fails, and of buffers that the
 * host releases at once. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMES = 5, ITEMS = 64, PART = 1024 };

static cl_context context;

static void check(const char *what, cl_int status)
{
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s: %d\n", what, status);
        exit(1);
    }
}

static cl_mem new_buffer(size_t size)
{
    cl_int status;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);
    check("buffer", status);
    return made;
}

static cl_kernel new_kernel(cl_program program, const char *name, cl_mem first, cl_mem second)
{
    cl_int status;
    cl_kernel made = clCreateKernel(program, name, &status);
    check("kernel", status);
    check("argument", clSetKernelArg(made, 0, sizeof first, &first));
    check("argument", clSetKernelArg(made, 1, sizeof second, &second));
    return made;
}

int main(void)
{
    static const char *source =
        "kernel void one(global int *x, global int *y) { y[get_global_id(0)] = x[0]; }\n"
        "kernel void other(global int *x, global int *y) { y[get_global_id(0)] += x[1]; }";
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    check("platform", clGetPlatformIDs(1, &platform, NULL));
    check("device", clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check("context", status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check("program", status);
    check("build", clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_command_queue in_order = clCreateCommandQueue(context, device, 0, &status);
    check("queue", status);
    cl_command_queue out_of_order =
        clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    check("queue", status);
    cl_mem x = new_buffer(4 * ITEMS), y = new_buffer(2 * PART), last;
    cl_buffer_region half = {PART, PART};
    cl_mem part = clCreateSubBuffer(y, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &status);
    check("sub-buffer", status);
    cl_kernel one = new_kernel(program, "one", x, y), other = new_kernel(program, "other", x, part);
    size_t items = ITEMS, local = 8, offset = 0;
    for (int i = 0; i < TIMES; i++) {
        check("launch",
              clEnqueueNDRangeKernel(in_order, one, 1, NULL, &items, NULL, 0, NULL, NULL));
        check("finish", clFinish(in_order));
    }
    for (int i = 0; i < TIMES; i++) {
        check("launch", clEnqueueNDRangeKernel(out_of_order, other, 1, &offset, &items, &local, 0,
                                               NULL, NULL));
        check("finish", clFinish(out_of_order));
    }
    cl_event failed = clCreateUserEvent(context, &status);
    check("user event", status);
    check("launch", clEnqueueTask(in_order, one, 1, &failed, NULL));
    check("failure", clSetUserEventStatus(failed, -1));
    clFinish(in_order);
    for (int i = 0; i < TIMES; i++) {
        last = new_buffer(8 * ITEMS);
        check("argument", clSetKernelArg(one, 1, sizeof last, &last));
        for (int j = 0; j < 2; j++)
            check("launch",
                  clEnqueueNDRangeKernel(in_order, one, 1, NULL, &items, NULL, 0, NULL, NULL));
        check("release", clReleaseMemObject(last));
    }
    check("finish", clFinish(in_order));
    return 0;
}
