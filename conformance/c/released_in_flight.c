/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers that the host releases while their last command is in flight: once the host has waited
 * for that command they are destroyed, and their memory is free for others. There is room
 * for one of them at a time. */
#include "host.h"

enum { MOST_DEVICES = 8, ROUNDS = 3 };

static const char *const source = "kernel void increment(global int *data) { data[0]++; }\n";

static struct host host;
static cl_kernel kernel;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int destroyed;

static void CL_CALLBACK count(cl_mem buffer, void *nothing)
{
    (void)buffer;
    (void)nothing;
    pthread_mutex_lock(&lock);
    destroyed++;
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
}

/* The specification does not say on which thread a callback comes, nor exactly when. */
static void wait_until_destroyed(int count)
{
    pthread_mutex_lock(&lock);
    while (destroyed < count)
        pthread_cond_wait(&more, &lock);
    pthread_mutex_unlock(&lock);
}

enum command { WRITE, READ, FILL, COPY, MAP, LAUNCH, WINDOW, COMMANDS };

static void enqueue(cl_command_queue queue, enum command command, cl_mem buffer, cl_event *event)
{
    static cl_int value;
    const cl_buffer_region region = {0, sizeof value};
    const size_t one = 1, size = sizeof value;
    cl_int status;
    switch (command) {
    case WRITE:
        must(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, size, &value, 0, NULL, event),
             "clEnqueueWriteBuffer");
        break;
    case READ:
        must(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, size, &value, 0, NULL, event),
             "clEnqueueReadBuffer");
        break;
    case FILL:
        must(clEnqueueFillBuffer(queue, buffer, &value, size, 0, size, 0, NULL, event),
             "clEnqueueFillBuffer");
        break;
    case COPY:
        must(clEnqueueCopyBuffer(queue, buffer, buffer, 0, size, size, 0, NULL, event),
             "clEnqueueCopyBuffer");
        break;
    case MAP: {
        void *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, size, 0, NULL,
                                          NULL, &status);
        must(status, "clEnqueueMapBuffer");
        must(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, event),
             "clEnqueueUnmapMemObject");
        break;
    }
    case LAUNCH:
        set_argument(kernel, 0, sizeof buffer, &buffer);
        must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, event),
             "clEnqueueNDRangeKernel");
        break;
    default: {
        cl_mem window =
            clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
        must(status, "clCreateSubBuffer");
        must(clEnqueueWriteBuffer(queue, window, CL_FALSE, 0, size, &value, 0, NULL, event),
             "clEnqueueWriteBuffer");
        must(clReleaseMemObject(window), "clReleaseMemObject");
    }
    }
}

/* More than half of the largest buffer that a kernel can have, whose memory may be a smaller one.
 */
static size_t large_size(void)
{
    const size_t one = 1;
    cl_ulong size;
    cl_int status;
    must(clGetDeviceInfo(host.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof size, &size, NULL),
         "clGetDeviceInfo");
    size = size / 10 * 6;
    do {
        cl_mem buffer = new_buffer(&host, size);
        set_argument(kernel, 0, sizeof buffer, &buffer);
        status = clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
        must(clFinish(host.queue), "clFinish");
        must(clReleaseMemObject(buffer), "clReleaseMemObject");
        size /= status == CL_SUCCESS ? 1 : 2;
    } while (status == CL_MEM_OBJECT_ALLOCATION_FAILURE);
    must(status, "clEnqueueNDRangeKernel");
    return size;
}

static void wait_for(cl_command_queue queue, cl_event event, int round)
{
    if (round % 3 == 0)
        must(clFinish(queue), "clFinish");
    else if (round % 3 == 1)
        must(clWaitForEvents(1, &event), "clWaitForEvents");
    else {
        must(clFlush(queue), "clFlush");
        while (status_of(event) > CL_COMPLETE)
            ;
    }
}

int main(void)
{
    cl_device_id devices[MOST_DEVICES];
    cl_uint devices_found;
    int made = 0;
    find_device(&host);
    must(clGetDeviceIDs(host.platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &devices_found),
         "clGetDeviceIDs");
    for (cl_uint i = 0; i < devices_found && i < MOST_DEVICES; i++) {
        cl_int status;
        host.device = devices[i];
        host.context = clCreateContext(NULL, 1, &host.device, NULL, NULL, &status);
        must(status, "clCreateContext");
        host.queue = new_queue(&host);
        host.program =
            clCreateProgramWithSource(host.context, 1, (const char **)&source, NULL, &status);
        must(status, "clCreateProgramWithSource");
        must(clBuildProgram(host.program, 1, &host.device, "", NULL, NULL), "clBuildProgram");
        kernel = new_kernel(&host, "increment");
        const size_t size = large_size();
        for (int round = 0; round < ROUNDS; round++)
            for (enum command command = WRITE; command < COMMANDS; command++) {
                cl_mem buffer = new_buffer(&host, size);
                cl_event event;
                must(clSetMemObjectDestructorCallback(buffer, count, NULL),
                     "clSetMemObjectDestructorCallback");
                enqueue(host.queue, command, buffer, &event);
                must(clReleaseMemObject(buffer), "clReleaseMemObject");
                wait_for(host.queue, event, round);
                must(clReleaseEvent(event), "clReleaseEvent");
                wait_until_destroyed(++made);
            }
        must(clReleaseKernel(kernel), "clReleaseKernel");
        stop(&host);
    }
    return 0;
}
