/* SPDX-License-Identifier: Apache-2.0
 *
 * Shapes of hosts that differ in queues, events and how they wait. */
#include "host.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4 };

cl_int plain(int count)
{
    for (int i = 0; i < count; i++)
        launch();
    finish();
    return count;
}

cl_int events_read(int count)
{
    cl_event *events = calloc((size_t)count, sizeof *events);
    for (int i = 0; i < count; i++)
        events[i] = launch_event();
    finish();
    for (int i = 0; i < count; i++) {
        running_time(events[i]);
        must(clReleaseEvent(events[i]), "clReleaseEvent");
    }
    free(events);
    return count;
}

cl_int each_profiled(int count)
{
    for (int i = 0; i < count; i++) {
        cl_event event = launch_event();
        must(clWaitForEvents(1, &event), "clWaitForEvents");
        running_time(event);
        must(clReleaseEvent(event), "clReleaseEvent");
    }
    return count;
}

cl_int each_finished(int count)
{
    for (int i = 0; i < count; i++) {
        launch();
        finish();
    }
    return count;
}

/* Launches of an out-of-order queue may meet, and then one of two additions may be lost. */
cl_int unordered(int count)
{
    plain(count);
    return UNKNOWN;
}

static cl_int chain(int count, cl_command_queue first, cl_command_queue second, int flush)
{
    cl_event before = NULL;
    for (int i = 0; i < count; i++) {
        cl_event event;
        cl_command_queue on = i % 2 ? second : first;
        launch_of(on, kernels[0], ITEMS, before != NULL, before ? &before : NULL, &event);
        if (flush)
            must(clFlush(on), "clFlush");
        if (before)
            must(clReleaseEvent(before), "clReleaseEvent");
        before = event;
    }
    wait_and_release(before);
    return count;
}

cl_int chained(int count)
{
    return chain(count, queue, queue, 0);
}

cl_int two_queues(int count)
{
    cl_command_queue second = new_queue(0);
    chain(count, queue, second, 1);
    must(clReleaseCommandQueue(second), "clReleaseCommandQueue");
    return count;
}

/* Writes behind the last read of the buffer, if there was one, which is released. */
static cl_event write_behind(cl_command_queue on, cl_mem to, size_t size, const cl_int *data,
                             cl_event last)
{
    cl_event written;
    must(clEnqueueWriteBuffer(on, to, CL_FALSE, 0, size, data, last != NULL,
                              last != NULL ? &last : NULL, &written),
         "clEnqueueWriteBuffer");
    if (last != NULL)
        must(clReleaseEvent(last), "clReleaseEvent");
    return written;
}

/* Reads behind a launch, which is released with the write before it. */
static cl_event read_behind(cl_command_queue on, cl_mem from, size_t size, cl_int *into,
                            cl_event written, cl_event launched)
{
    cl_event read;
    must(clEnqueueReadBuffer(on, from, CL_FALSE, 0, size, into, 1, &launched, &read),
         "clEnqueueReadBuffer");
    must(clReleaseEvent(written), "clReleaseEvent");
    must(clReleaseEvent(launched), "clReleaseEvent");
    return read;
}

/* Transfers have a queue of their own, and buffers take turns. */
cl_int double_buffered(int count)
{
    cl_command_queue transfers = new_queue(0);
    cl_int data[ITEMS] = {0}, result[ITEMS];
    cl_event read[2] = {NULL, NULL};
    for (int i = 0; i < count; i++) {
        cl_mem buffer = buffers[2 + i % 2];
        cl_event launched, written = write_behind(transfers, buffer, SMALL, data, read[i % 2]);
        set(kernels[0], buffer, buffers[1], 1);
        launch_of(queue, kernels[0], ITEMS, 1, &written, &launched);
        read[i % 2] = read_behind(transfers, buffer, SMALL, result, written, launched);
    }
    for (int i = 0; i < 2; i++)
        wait_and_release(read[i]);
    finish();
    must(clReleaseCommandQueue(transfers), "clReleaseCommandQueue");
    return 0;
}

/* Writes, launches and reads have a queue each. */
cl_int pipelined(int count)
{
    cl_command_queue writes = new_queue(0), reads = new_queue(0);
    static cl_int data[LARGE / sizeof(cl_int)], result[LARGE / sizeof(cl_int)];
    cl_event read[2] = {NULL, NULL};
    for (int i = 0; i < count; i++) {
        cl_mem from = buffers[2 + i % 2], to = buffers[4 + i % 2];
        cl_event launched, written = write_behind(writes, from, LARGE, data, read[i % 2]);
        must(clFlush(writes), "clFlush");
        set(kernels[0], to, from, 1);
        launch_of(queue, kernels[0], ITEMS, 1, &written, &launched);
        must(clFlush(queue), "clFlush");
        read[i % 2] = read_behind(reads, to, LARGE, result, written, launched);
        must(clFlush(reads), "clFlush");
    }
    for (int i = 0; i < 2; i++)
        wait_and_release(read[i]);
    must(clReleaseCommandQueue(writes), "clReleaseCommandQueue");
    must(clReleaseCommandQueue(reads), "clReleaseCommandQueue");
    return 0;
}

/* Nothing in such a kernel shows that it does not wait for the writes of the other queue. */
cl_int beside_polling(int count)
{
    cl_command_queue writes = new_queue(0);
    cl_kernel polling = new_kernel("poll");
    cl_int data[ITEMS] = {0};
    set(polling, buffers[0], buffers[1], 1);
    for (int i = 0; i < count; i++) {
        cl_event written;
        must(clEnqueueWriteBuffer(writes, buffers[2 + i % 4], CL_FALSE, 0, SMALL, data, 0, NULL,
                                  &written),
             "clEnqueueWriteBuffer");
        must(clFlush(writes), "clFlush");
        launch_of(queue, polling, ITEMS, 1, &written, NULL);
        must(clReleaseEvent(written), "clReleaseEvent");
    }
    finish();
    must(clReleaseKernel(polling), "clReleaseKernel");
    must(clReleaseCommandQueue(writes), "clReleaseCommandQueue");
    return count;
}

cl_int joined(int count)
{
    enum { EVENTS = 100 };
    cl_event events[EVENTS];
    for (int i = 0; i < count; i++) {
        if (i % EVENTS != EVENTS - 1) {
            events[i % EVENTS] = launch_event();
            continue;
        }
        launch_of(queue, kernels[0], ITEMS, EVENTS - 1, events, NULL);
        for (int j = 0; j < EVENTS - 1; j++)
            must(clReleaseEvent(events[j]), "clReleaseEvent");
    }
    finish();
    return UNKNOWN;
}

cl_int asked(int count)
{
    cl_device_id device;
    size_t most;
    must(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL),
         "clGetCommandQueueInfo");
    for (int i = 0; i < count; i++) {
        must(clGetKernelWorkGroupInfo(kernels[0], device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most,
                                      &most, NULL),
             "clGetKernelWorkGroupInfo");
        launch();
    }
    finish();
    return count;
}

cl_int sizes(int count)
{
    for (int i = 0; i < count; i++)
        launch_of(queue, kernels[0], ITEMS * (size_t)(1 + i * 7 % 13), 0, NULL, NULL);
    finish();
    return count;
}

/* A task is one work-item, which is the first one. */
cl_int tasks(int count)
{
    for (int i = 0; i < count; i++)
        must(clEnqueueTask(queue, kernels[0], 0, NULL, NULL), "clEnqueueTask");
    finish();
    return count;
}

cl_int markers(int count)
{
    for (int i = 0; i < count; i++) {
        launch();
        if (i % 16 == 15) {
            cl_event event;
            must(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event),
                 "clEnqueueMarkerWithWaitList");
            wait_and_release(event);
        }
    }
    finish();
    return count;
}

cl_int barriers(int count)
{
    for (int i = 0; i < count; i++) {
        cl_event event = launch_event();
        must(clEnqueueBarrierWithWaitList(queue, 1, &event, NULL), "clEnqueueBarrierWithWaitList");
        must(clReleaseEvent(event), "clReleaseEvent");
    }
    finish();
    return count;
}

static void CL_CALLBACK completed(cl_event event, cl_int status, void *number)
{
    (void)event;
    (void)status;
    atomic_fetch_add((atomic_int *)number, 1);
}

cl_int callbacks(int count)
{
    atomic_int called = 0;
    for (int i = 0; i < count; i++) {
        cl_event event = launch_event();
        must(clSetEventCallback(event, CL_COMPLETE, completed, &called), "clSetEventCallback");
        must(clReleaseEvent(event), "clReleaseEvent");
    }
    finish();
    while (atomic_load(&called) < count)
        ;
    return count;
}

cl_int polled(int count)
{
    for (int i = 0; i < count; i++) {
        cl_event event = launch_event();
        cl_int status;
        must(clFlush(queue), "clFlush");
        do
            must(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                NULL),
                 "clGetEventInfo");
        while (status > CL_COMPLETE);
        must(status, "a launch");
        must(clReleaseEvent(event), "clReleaseEvent");
    }
    return count;
}

cl_int user_events(int count)
{
    for (int i = 0; i < count; i++) {
        cl_int status;
        cl_event user = clCreateUserEvent(context, &status), event;
        must(status, "clCreateUserEvent");
        launch_of(queue, kernels[0], ITEMS, 1, &user, &event);
        must(clFlush(queue), "clFlush");
        must(clSetUserEventStatus(user, CL_COMPLETE), "clSetUserEventStatus");
        wait_and_release(event);
        must(clReleaseEvent(user), "clReleaseEvent");
    }
    return count;
}

static void CL_CALLBACK launch_next(cl_event event, cl_int status, void *left)
{
    cl_event next;
    (void)event;
    (void)status;
    if (atomic_fetch_sub((atomic_int *)left, 1) == 0)
        return;
    next = launch_event();
    must(clSetEventCallback(next, CL_COMPLETE, launch_next, left), "clSetEventCallback");
    must(clFlush(queue), "clFlush");
    must(clReleaseEvent(next), "clReleaseEvent");
}

/* The callback of each launch enqueues the next one; that of the last one counts to -1. */
cl_int continued(int count)
{
    atomic_int left = count;
    launch_next(NULL, CL_COMPLETE, &left);
    while (atomic_load(&left) >= 0)
        sched_yield();
    finish();
    return count;
}

cl_int user_callbacks(int count)
{
    atomic_int called = 0;
    for (int i = 0; i < count; i++) {
        cl_int status;
        cl_event user = clCreateUserEvent(context, &status);
        must(status, "clCreateUserEvent");
        must(clSetEventCallback(user, CL_COMPLETE, completed, &called), "clSetEventCallback");
        must(clSetUserEventStatus(user, CL_COMPLETE), "clSetUserEventStatus");
        must(clReleaseEvent(user), "clReleaseEvent");
        launch();
    }
    finish();
    while (atomic_load(&called) < count)
        ;
    return count;
}

/* Every second launch has no work-items. */
cl_int empty_ranges(int count)
{
    const size_t none = 0;
    for (int i = 0; i < count; i++) {
        must(clEnqueueNDRangeKernel(queue, kernels[0], 1, NULL, &none, NULL, 0, NULL, NULL),
             "clEnqueueNDRangeKernel");
        launch();
    }
    finish();
    return count;
}

struct part {
    pthread_t thread;
    int count;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem x, y;
};

static void *launch_and_read(void *argument)
{
    struct part *part = argument;
    cl_int result[ITEMS];
    for (int i = 0; i < part->count; i++) {
        launch_of(part->queue, part->kernel, ITEMS, 0, NULL, NULL);
        if (i % 8 == 7)
            must(
                clEnqueueReadBuffer(part->queue, part->x, CL_TRUE, 0, SMALL, result, 0, NULL, NULL),
                "clEnqueueReadBuffer");
    }
    must(clFinish(part->queue), "clFinish");
    return NULL;
}

cl_int threads(int count)
{
    struct part parts[THREADS];
    for (int i = 0; i < THREADS; i++) {
        struct part *part = &parts[i];
        *part = (struct part){.count = count / THREADS, .queue = new_queue(0)};
        part->kernel = new_kernel("add");
        part->x = new_buffer(CL_MEM_READ_WRITE, LARGE, NULL);
        part->y = new_buffer(CL_MEM_READ_WRITE, LARGE, NULL);
        set(part->kernel, part->x, part->y, 1);
        must(pthread_create(&part->thread, NULL, launch_and_read, part), "pthread_create");
    }
    for (int i = 0; i < THREADS; i++) {
        struct part *part = &parts[i];
        must(pthread_join(part->thread, NULL), "pthread_join");
        must(clReleaseKernel(part->kernel), "clReleaseKernel");
        must(clReleaseMemObject(part->x), "clReleaseMemObject");
        must(clReleaseMemObject(part->y), "clReleaseMemObject");
        must(clReleaseCommandQueue(part->queue), "clReleaseCommandQueue");
    }
    return 0;
}
