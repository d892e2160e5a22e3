/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that is to be cancelled, and makes one call before that: the call returns, and the next
 * calls of other threads work. The argument names the call. */
#include "host.h"

enum { COUNT = 64, LAUNCHES = 40 };

static const char source[] = "kernel void add(global int *x) { x[get_global_id(0)]++; }";
static struct host host;
static cl_kernel kernel;
static cl_mem buffer;
static cl_event event, gate;
static int has_returned, numbers[COUNT], launches;

static void find(void)
{
    find_context(&host);
}

static void build(void)
{
    host.program = new_program(&host, source, "");
}

static void write_all(void)
{
    write_buffer(host.queue, buffer, sizeof numbers, numbers);
}

static void finish(void)
{
    MUST(clFinish(host.queue));
}

static void wait_for_event(void)
{
    MUST(clWaitForEvents(1, &event));
}

static void launch_once(void)
{
    launch(host.queue, kernel, COUNT, event == NULL ? &event : NULL);
    launches++;
}

static void make_all(void)
{
    host.queue = new_queue(&host);
    if (host.program == NULL)
        build();
    kernel = new_kernel(&host, "add");
    buffer = new_buffer(&host, sizeof numbers);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    write_all();
    launch_once();
}

/* Rows of launches recur, and C has the last one run. */
static void make_recurring(void)
{
    make_all();
    finish();
    for (int row = 0; row < 4; row++) {
        for (int i = 0; i < LAUNCHES; i++)
            launch_once();
        if (row < 3)
            finish();
    }
}

/* C calls back about the event, which has ended. */
static void make_gate(void)
{
    make_recurring();
    finish();
    gate = user_event(&host);
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
}

static void CL_CALLBACK may_be_cancelled(cl_event of, cl_int status, void *nothing)
{
    (void)of, (void)status, (void)nothing;
    pthread_testcancel();
}

static void call_back(void)
{
    MUST(clSetEventCallback(gate, CL_COMPLETE, may_be_cancelled, NULL));
}

static void nothing(void)
{
}

static const struct step {
    const char *name;
    void (*before)(void), (*call)(void);
} steps[] = {{"start", nothing, find},
             {"build", find, build},
             {"write", make_all, write_all},
             {"finish", make_all, finish},
             {"wait", make_all, wait_for_event},
             {"launch", make_all, launch_once},
             {"recorded", make_recurring, finish},
             {"call back", make_gate, call_back}};

static void *call_and_end(void *call)
{
    pthread_cancel(pthread_self()); /* wherever the thread may be cancelled next */
    (*(void (*const *)(void))call)();
    has_returned = 1;
    pthread_testcancel();
    return NULL;
}

int main(int count, char **words)
{
    const struct step *step = steps;
    while (count < 2 || strcmp(step->name, words[1]) != 0)
        step++;
    if (step->before != nothing && step->before != find)
        find();
    step->before();
    pthread_t thread;
    void *result;
    must(pthread_create(&thread, NULL, call_and_end, (void *)&step->call), "pthread_create");
    must(pthread_join(thread, &result), "pthread_join");
    if (!has_returned || result != PTHREAD_CANCELED) {
        puts(has_returned ? "the thread cannot be cancelled any more" : "the call did not return");
        return 1;
    }
    if (host.queue == NULL)
        make_all();
    finish();
    read_back(host.queue, buffer, sizeof numbers, numbers);
    printf("%s\n", numbers[COUNT - 1] == launches || step->call == write_all ? "right" : "wrong");
    return 0;
}
