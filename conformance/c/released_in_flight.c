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
    const size_t one = 1, size = sizeof value;
    switch (command) {
    case WRITE:
        MUST(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, size, &value, 0, NULL, event));
        break;
    case READ:
        MUST(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, size, &value, 0, NULL, event));
        break;
    case FILL:
        MUST(clEnqueueFillBuffer(queue, buffer, &value, size, 0, size, 0, NULL, event));
        break;
    case COPY:
        MUST(clEnqueueCopyBuffer(queue, buffer, buffer, 0, size, size, 0, NULL, event));
        break;
    case MAP: {
        void *mapped = map_buffer(queue, buffer, CL_MAP_WRITE, 0, size);
        MUST(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, event));
        break;
    }
    case LAUNCH:
        set_argument(kernel, 0, sizeof buffer, &buffer);
        launch(queue, kernel, one, event);
        break;
    default: {
        cl_mem window = region_of(buffer, 0, 0, size);
        MUST(clEnqueueWriteBuffer(queue, window, CL_FALSE, 0, size, &value, 0, NULL, event));
        MUST(clReleaseMemObject(window));
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
    MUST(clGetDeviceInfo(host.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof size, &size, NULL));
    size = size / 10 * 6;
    do {
        cl_mem buffer = new_buffer(&host, size);
        set_argument(kernel, 0, sizeof buffer, &buffer);
        status = clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
        MUST(clFinish(host.queue));
        MUST(clReleaseMemObject(buffer));
        size /= status == CL_SUCCESS ? 1 : 2;
    } while (status == CL_MEM_OBJECT_ALLOCATION_FAILURE);
    must(status, "clEnqueueNDRangeKernel");
    return size;
}

static void wait_for(cl_command_queue queue, cl_event event, int round)
{
    if (round % 3 == 0)
        MUST(clFinish(queue));
    else if (round % 3 == 1)
        MUST(clWaitForEvents(1, &event));
    else {
        MUST(clFlush(queue));
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
    MUST(clGetDeviceIDs(host.platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &devices_found));
    for (cl_uint i = 0; i < devices_found && i < MOST_DEVICES; i++) {
        host.device = devices[i];
        host.context = new_context(host.device);
        host.queue = new_queue(&host);
        host.program = new_program(&host, source, "");
        kernel = new_kernel(&host, "increment");
        const size_t size = large_size();
        for (int round = 0; round < ROUNDS; round++)
            for (enum command command = WRITE; command < COMMANDS; command++) {
                cl_mem buffer = new_buffer(&host, size);
                cl_event event;
                MUST(clSetMemObjectDestructorCallback(buffer, count, NULL));
                enqueue(host.queue, command, buffer, &event);
                MUST(clReleaseMemObject(buffer));
                wait_for(host.queue, event, round);
                MUST(clReleaseEvent(event));
                wait_until_destroyed(++made);
            }
        MUST(clReleaseKernel(kernel));
        stop(&host);
    }
    return 0;
}
