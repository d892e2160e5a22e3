/* SPDX-License-Identifier: Apache-2.0
 *
 * Short rows of launches that one thread waits for again and again, while others ask for their
 * events, move bytes to and from the same device, and run another program on it. */
#include "host.h"

enum { LONGEST = 4 };

static const char *source = "kernel void add(global int *x, int a) { x[0] += a; }";
static const char *other_source = "kernel void other(global int *y) { y[1] += 1; }";

static struct host host;
static cl_mem counted, aside;
static double end;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cl_event latest; /* of a row that may not have ended */

static void give(cl_event event)
{
    must(clRetainEvent(event), "clRetainEvent");
    pthread_mutex_lock(&lock);
    cl_event before = latest;
    latest = event;
    pthread_mutex_unlock(&lock);
    if (before != NULL)
        must(clReleaseEvent(before), "clReleaseEvent");
}

static cl_event take(void)
{
    pthread_mutex_lock(&lock);
    cl_event taken = latest;
    latest = NULL;
    pthread_mutex_unlock(&lock);
    return taken;
}

/* Each third row is waited for by its last event. */
static void *launch_rows(void *total)
{
    cl_kernel kernel = new_kernel(&host, "add");
    set_argument(kernel, 0, sizeof counted, &counted);
    cl_uint *sum = total; /* wraps around, as the kernel's */
    for (cl_int row = 0; seconds() < end; row++) {
        cl_event events[LONGEST];
        int length = row % LONGEST + 1;
        for (int i = 0; i < length; i++) {
            set_argument(kernel, 1, sizeof row, &row);
            launch(host.queue, kernel, 1, &events[i]);
            *sum += (cl_uint)row;
            give(events[i]);
        }
        if (row % 3 != 0)
            must(clFinish(host.queue), "clFinish");
        else
            must(clWaitForEvents(1, &events[length - 1]), "clWaitForEvents");
        for (int i = 0; i < length; i++) {
            must_be(status_of(events[i]) == CL_COMPLETE, "an event of a row has ended");
            must(clReleaseEvent(events[i]), "clReleaseEvent");
        }
    }
    must(clReleaseKernel(kernel), "clReleaseKernel");
    return NULL;
}

static void *ask(void *nothing)
{
    while (seconds() < end) {
        cl_event event = take();
        if (event == NULL)
            continue;
        must_be(status_of(event) >= CL_COMPLETE, "no launch fails");
        must(clWaitForEvents(1, &event), "clWaitForEvents");
        must_be(status_of(event) == CL_COMPLETE, "it has been waited for");
        must(clReleaseEvent(event), "clReleaseEvent");
    }
    return nothing;
}

static void *disturb(void *nothing)
{
    cl_command_queue queue = new_queue(&host);
    cl_int status, value;
    cl_program program = clCreateProgramWithSource(host.context, 1, &other_source, NULL, &status);
    must(status, "clCreateProgramWithSource");
    must(clBuildProgram(program, 1, &host.device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "other", &status);
    must(status, "clCreateKernel");
    set_argument(kernel, 0, sizeof aside, &aside);
    for (cl_int turn = 1; seconds() < end; turn++) {
        must(clEnqueueWriteBuffer(queue, aside, CL_TRUE, 0, sizeof turn, &turn, 0, NULL, NULL),
             "clEnqueueWriteBuffer");
        if (turn % 5 == 0)
            launch(queue, kernel, 1, NULL);
        read_back(queue, aside, sizeof value, &value);
        must_be(value == turn, "what was written is read");
        usleep((useconds_t)(turn % 4) * 300);
    }
    must(clFinish(queue), "clFinish");
    must(clReleaseKernel(kernel), "clReleaseKernel");
    must(clReleaseProgram(program), "clReleaseProgram");
    must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
    return nothing;
}

int main(int count, char **words)
{
    cl_uint total = 0, found;
    pthread_t threads[3];
    start(&host, source);
    counted = new_buffer(&host, 2 * sizeof found);
    aside = new_buffer(&host, 2 * sizeof found);
    fill(host.queue, counted, 0, 2 * sizeof found);
    fill(host.queue, aside, 0, 2 * sizeof found);
    must(clFinish(host.queue), "clFinish");
    end = seconds() + (count > 1 ? atof(words[1]) : 1);
    void *(*const parts[])(void *) = {launch_rows, ask, disturb};
    for (int i = 0; i < 3; i++)
        must_be(pthread_create(&threads[i], NULL, parts[i], &total) == 0, "a thread can be made");
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    cl_event left = take();
    if (left != NULL)
        must(clReleaseEvent(left), "clReleaseEvent");
    read_back(host.queue, counted, sizeof found, &found);
    must_be(found == total, "each launch has run once");
    must(clReleaseMemObject(counted), "clReleaseMemObject");
    must(clReleaseMemObject(aside), "clReleaseMemObject");
    stop(&host);
    return 0;
}
