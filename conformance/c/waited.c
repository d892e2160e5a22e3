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
    MUST(clRetainEvent(event));
    pthread_mutex_lock(&lock);
    cl_event before = latest;
    latest = event;
    pthread_mutex_unlock(&lock);
    if (before != NULL)
        MUST(clReleaseEvent(before));
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
            MUST(clFinish(host.queue));
        else
            MUST(clWaitForEvents(1, &events[length - 1]));
        for (int i = 0; i < length; i++) {
            must_be(status_of(events[i]) == CL_COMPLETE, "an event of a row has ended");
            MUST(clReleaseEvent(events[i]));
        }
    }
    MUST(clReleaseKernel(kernel));
    return NULL;
}

static void *ask(void *nothing)
{
    while (seconds() < end) {
        cl_event event = take();
        if (event == NULL)
            continue;
        must_be(status_of(event) >= CL_COMPLETE, "no launch fails");
        MUST(clWaitForEvents(1, &event));
        must_be(status_of(event) == CL_COMPLETE, "it has been waited for");
        MUST(clReleaseEvent(event));
    }
    return nothing;
}

static void *disturb(void *nothing)
{
    cl_command_queue queue = new_queue(&host);
    cl_int value;
    cl_program program = new_program(&host, other_source, "");
    cl_kernel kernel = kernel_in(program, "other");
    set_argument(kernel, 0, sizeof aside, &aside);
    for (cl_int turn = 1; seconds() < end; turn++) {
        write_buffer(queue, aside, sizeof turn, &turn);
        if (turn % 5 == 0)
            launch(queue, kernel, 1, NULL);
        read_back(queue, aside, sizeof value, &value);
        must_be(value == turn, "what was written is read");
        usleep((useconds_t)(turn % 4) * 300);
    }
    MUST(clFinish(queue));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseProgram(program));
    MUST(clReleaseCommandQueue(queue));
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
    MUST(clFinish(host.queue));
    end = seconds() + (count > 1 ? atof(words[1]) : 1);
    void *(*const parts[])(void *) = {launch_rows, ask, disturb};
    for (int i = 0; i < 3; i++)
        must_be(pthread_create(&threads[i], NULL, parts[i], &total) == 0, "a thread can be made");
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    cl_event left = take();
    if (left != NULL)
        MUST(clReleaseEvent(left));
    read_back(host.queue, counted, sizeof found, &found);
    must_be(found == total, "each launch has run once");
    MUST(clReleaseMemObject(counted));
    MUST(clReleaseMemObject(aside));
    stop(&host);
    return 0;
}
