/* SPDX-License-Identifier: Apache-2.0
 *
 * Eight tasks at once, one on each core of a 66AK2x, each with three buffers of its own. Every task
 * waits until all eight have begun. */
#include "synopsis.h"

enum { TASKS = 8, COUNT = 1 << 16, SIZE = COUNT * sizeof(cl_int) };

static const char *const source =
    "kernel void add(global const int *a, global const int *b, global int *c, int n,\n"
    "                global volatile int *begun, int tasks)\n"
    "{\n"
    "    atomic_inc(begun);\n"
    "    while (atomic_add(begun, 0) < tasks);\n"
    "    for (int i = 0; i < n; i++) c[i] = a[i] + b[i];\n"
    "}\n";

static void write_all(cl_mem buffer, const void *data, size_t size)
{
    check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, size, data, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
}

static void launch(cl_command_queue where, cl_kernel kernel, const cl_mem *vectors, cl_int tasks)
{
    const size_t one = 1;
    for (cl_uint i = 0; i < 3; i++)
        set(kernel, i, sizeof vectors[i], &vectors[i]);
    set(kernel, 5, sizeof tasks, &tasks);
    check(clEnqueueNDRangeKernel(where, kernel, 1, NULL, &one, &one, 0, NULL, NULL),
          "clEnqueueNDRangeKernel");
}

int main(void)
{
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES,
                                              CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    static cl_int data[COUNT];
    const cl_int items = COUNT, none = 0;
    cl_mem buffers[TASKS][3];
    cl_int status;
    int wrong = 0;
    begin();
    cl_command_queue out_of_order =
        clCreateCommandQueueWithProperties(context, device, properties, &status);
    check(status, "clCreateCommandQueueWithProperties");
    cl_kernel kernel = kernel_of(source, "add");
    cl_mem begun = buffer_of(CL_MEM_READ_WRITE, sizeof none);
    set(kernel, 3, sizeof items, &items);
    set(kernel, 4, sizeof begun, &begun);
    for (int task = 0; task < TASKS; task++) {
        for (int i = 0; i < COUNT; i++)
            data[i] = task + i;
        for (cl_uint i = 0; i < 3; i++)
            buffers[task][i] = buffer_of(CL_MEM_READ_WRITE, SIZE);
        for (cl_uint i = 0; i < 2; i++)
            write_all(buffers[task][i], data, SIZE);
    }
    /* The first launch, alone, has the kernel compiled: the eight need not wait for that. */
    write_all(begun, &none, sizeof none);
    launch(queue, kernel, buffers[0], 1);
    check(clFinish(queue), "clFinish");
    write_all(begun, &none, sizeof none);
    for (int task = 0; task < TASKS; task++)
        launch(out_of_order, kernel, buffers[task], TASKS);
    check(clFinish(out_of_order), "clFinish");
    for (int task = 0; task < TASKS; task++) {
        check(clEnqueueReadBuffer(queue, buffers[task][2], CL_TRUE, 0, SIZE, data, 0, NULL, NULL),
              "clEnqueueReadBuffer");
        for (int i = 0; i < COUNT; i++)
            wrong += data[i] != 2 * (task + i);
        for (int i = 0; i < 3; i++)
            clReleaseMemObject(buffers[task][i]);
    }
    clReleaseMemObject(begun);
    clReleaseKernel(kernel);
    clReleaseCommandQueue(out_of_order);
    return end(wrong);
}
