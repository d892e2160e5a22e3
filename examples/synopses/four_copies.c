/* SPDX-License-Identifier: Apache-2.0
 *
 * One megabyte goes through four kinds of copies, each command behind the one before it: within the
 * host's memory, to a board, within that board, to another board; and back. It needs two devices.
 */
#include "synopsis.h"

enum { COUNT = 1 << 18, SIZE = COUNT * sizeof(cl_int) };

static cl_int data[COUNT], got[COUNT];
static cl_int kept[COUNT] __attribute__((aligned(4096)));

static cl_event copy(cl_command_queue where, cl_mem from, cl_mem to, cl_event after)
{
    cl_event copied;
    check(clEnqueueCopyBuffer(where, from, to, 0, 0, SIZE, after != NULL, after ? &after : NULL,
                              &copied),
          "clEnqueueCopyBuffer");
    if (after != NULL)
        clReleaseEvent(after);
    return copied;
}

int main(void)
{
    cl_device_id both[2];
    cl_int status;
    cl_event done;
    begin();
    check(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
    check(clReleaseContext(context), "clReleaseContext");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, both, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 2, both, NULL, NULL, &status);
    check(status, "clCreateContext");
    queue = clCreateCommandQueueWithProperties(context, both[0], NULL, &status);
    check(status, "clCreateCommandQueueWithProperties");
    cl_command_queue other = clCreateCommandQueueWithProperties(context, both[1], NULL, &status);
    check(status, "clCreateCommandQueueWithProperties");

    cl_mem on_host = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, SIZE, kept, &status);
    check(status, "clCreateBuffer");
    cl_mem first = buffer_of(CL_MEM_READ_WRITE, SIZE), second = buffer_of(CL_MEM_READ_WRITE, SIZE),
           there = buffer_of(CL_MEM_READ_WRITE, SIZE);
    for (int i = 0; i < COUNT; i++)
        data[i] = 3 * i;
    check(clEnqueueMigrateMemObjects(other, 1, &there, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0,
                                     NULL, &done),
          "clEnqueueMigrateMemObjects");
    check(clEnqueueWriteBuffer(queue, on_host, CL_FALSE, 0, SIZE, data, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    done = copy(queue, on_host, first, done);
    done = copy(queue, first, second, done);
    done = copy(queue, second, there, done);
    check(clEnqueueReadBuffer(other, there, CL_TRUE, 0, SIZE, got, 1, &done, NULL),
          "clEnqueueReadBuffer");
    const int wrong = memcmp(data, got, SIZE);
    clReleaseEvent(done);
    clReleaseMemObject(on_host);
    clReleaseMemObject(first);
    clReleaseMemObject(second);
    clReleaseMemObject(there);
    clReleaseCommandQueue(other);
    return end(wrong);
}
