/* SPDX-License-Identifier: Apache-2.0
 *
 * Two threads share an in-order queue: while one is in a long blocking write, the other enqueues
 * something small and waits for it in one of the ways that hosts have.
 *
 *     shared_queue finish | poll | callback | wait [rounds]
 *
 * finish: clFinish; poll: clFlush, then nothing but clGetEventInfo; callback: clFlush, then no call
 * at all until the event's callback; wait: clWaitForEvents in both threads. */
#include "host.h"

#include <stdatomic.h>

enum { LARGE = 64 << 20 };

static struct host host;
static cl_mem large, small;
static char *data;
static atomic_int called, writes;
static const char *how;

static void *write_large(void *unused)
{
    write_buffer(host.queue, large, LARGE, data);
    atomic_fetch_add(&writes, 1);
    return unused;
}

static void CL_CALLBACK has_ended(cl_event event, cl_int status, void *unused)
{
    (void)event, (void)unused;
    must(status, "event");
    atomic_fetch_add(&called, 1);
}

static void wait_for(cl_event event)
{
    if (strcmp(how, "finish") == 0)
        MUST(clFinish(host.queue));
    else if (strcmp(how, "wait") == 0)
        MUST(clWaitForEvents(1, &event));
    else
        MUST(clFlush(host.queue));
    if (strcmp(how, "callback") == 0)
        while (atomic_load(&called) == 0)
            usleep(100);
    if (strcmp(how, "poll") == 0)
        while (status_of(event) > CL_COMPLETE)
            usleep(100);
    must_be(status_of(event) == CL_COMPLETE, "the command has ended");
}

static void small_command(cl_kernel kernel, int round, cl_event *event)
{
    cl_int value = round;
    if (round % 2 == 0)
        launch(host.queue, kernel, 1, event);
    else
        MUST(clEnqueueFillBuffer(host.queue, small, &value, sizeof value, 0, 64, 0, NULL, event));
}

int main(int count, char **arguments)
{
    how = count > 1 ? arguments[1] : "finish";
    int rounds = count > 2 ? atoi(arguments[2]) : 10;
    start(&host, SPIN_SOURCE);
    cl_kernel kernel = new_kernel(&host, "add");
    cl_int amount = 1;
    large = new_buffer(&host, LARGE);
    small = new_buffer(&host, 64);
    data = calloc(1, LARGE);
    set_argument(kernel, 0, sizeof small, &small);
    set_argument(kernel, 1, sizeof amount, &amount);
    fill(host.queue, small, 0, 64);
    write_large(NULL);
    for (int round = 0; round < rounds; round++) {
        pthread_t thread;
        cl_event event;
        atomic_store(&called, 0);
        must_be(pthread_create(&thread, NULL, write_large, NULL) == 0, "pthread_create");
        usleep((useconds_t)(round * 997 % 4000)); /* at another moment of the write each time */
        small_command(kernel, round, &event);
        if (strcmp(how, "callback") == 0)
            MUST(clSetEventCallback(event, CL_COMPLETE, has_ended, NULL));
        wait_for(event);
        pthread_join(thread, NULL);
        MUST(clReleaseEvent(event));
    }
    must_be(atomic_load(&writes) == rounds + 1, "all writes came back");
    printf("%d rounds of %s\n", rounds, how);
    return 0;
}
