/* SPDX-License-Identifier: Apache-2.0
 *
 * Callbacks of events, of destroyed objects and of builds that call back into the API: queries,
 * creation, release, enqueuing, further callbacks of an event that has ended, thousands of them.
 * (Blocking calls are not allowed there.) And: callbacks of an event come in the order of its
 * states, those of a destroyed object last registered first. */
#include "host.h"

#include <stdatomic.h>

enum { ROUNDS = 500, NESTED = 20000, IN_A_ROW = 100 };

static struct host host;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int rounds_left = ROUNDS, nested, builds_done, states_seen, destroyed, ended_in_a_row;
static cl_int states[3];
static int destroyed_order[3];
static cl_kernel add;
static cl_kernel from_build;
static cl_mem from_destructor;

static void wait_until(const int *value, int wanted)
{
    pthread_mutex_lock(&lock);
    while (*value != wanted)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void change(int *value, int by)
{
    pthread_mutex_lock(&lock);
    *value += by;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Each completion enqueues the next kernel, with this callback on it. */
static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *unused)
{
    cl_command_queue queue;
    cl_context context;
    cl_event next;
    must(status, "the command succeeds");
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL));
    MUST(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL));
    must_be(queue == host.queue && context == host.context, "an event knows its queue");
    cl_mem temporary = new_buffer(&host, 4096);
    MUST(clReleaseMemObject(temporary));
    MUST(clReleaseEvent(event));
    change(&rounds_left, -1);
    pthread_mutex_lock(&lock);
    bool more = rounds_left > 0;
    pthread_mutex_unlock(&lock);
    if (!more)
        return;
    launch(queue, add, 64, &next);
    MUST(clSetEventCallback(next, CL_COMPLETE, on_complete, unused));
    MUST(clFlush(queue));
}

static void CL_CALLBACK on_state(cl_event event, cl_int state, void *unused)
{
    cl_int now;
    (void)unused;
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof now, &now, NULL));
    must_be(now <= state, "the event has reached the state of its callback");
    pthread_mutex_lock(&lock);
    if (states_seen < 3)
        states[states_seen] = state;
    pthread_mutex_unlock(&lock);
    change(&states_seen, 1);
}

static void CL_CALLBACK on_destroyed(cl_mem buffer, void *which)
{
    (void)buffer;
    if (*(int *)which == 0)
        from_destructor = new_buffer(&host, 64);
    pthread_mutex_lock(&lock);
    if (destroyed < 3)
        destroyed_order[destroyed] = *(int *)which;
    pthread_mutex_unlock(&lock);
    change(&destroyed, 1);
}

static void CL_CALLBACK on_built(cl_program program, void *unused)
{
    cl_build_status status;
    cl_int error;
    (void)unused;
    MUST(clGetProgramBuildInfo(program, host.device, CL_PROGRAM_BUILD_STATUS, sizeof status,
                               &status, NULL));
    must_be(status == CL_BUILD_SUCCESS, "the build has ended when its callback comes");
    from_build = clCreateKernel(program, "add", &error);
    must(error, "clCreateKernel in a build callback");
    change(&builds_done, 1);
}

static void chain_of_callbacks(void)
{
    cl_int one = 1, back[64];
    cl_event first;
    cl_mem buffer = new_buffer(&host, sizeof back);
    fill(host.queue, buffer, 0, sizeof back);
    set_argument(add, 0, sizeof buffer, &buffer);
    set_argument(add, 1, sizeof one, &one);
    launch(host.queue, add, 64, &first);
    MUST(clSetEventCallback(first, CL_COMPLETE, on_complete, NULL));
    MUST(clFlush(host.queue));
    wait_until(&rounds_left, 0); /* each completion's callback starts the next kernel */
    read_back(host.queue, buffer, sizeof back, back);
    must_be(back[0] == ROUNDS && back[63] == ROUNDS, "as many kernels ran as callbacks came");
    MUST(clReleaseMemObject(buffer));
}

static void CL_CALLBACK on_ended(cl_event event, cl_int status, void *left)
{
    must(status, "the command succeeds");
    if ((size_t)left > 1)
        must(clSetEventCallback(event, CL_COMPLETE, on_ended, (void *)((size_t)left - 1)),
             "clSetEventCallback in a callback of the same event");
    change(&nested, 1);
}

static void callbacks_in_callbacks(void)
{
    cl_event event, gate = user_event(&host);
    must(clEnqueueMarkerWithWaitList(host.queue, 1, &gate, &event), "marker");
    MUST(clSetEventCallback(event, CL_COMPLETE, on_ended, (void *)(size_t)NESTED));
    MUST(clFlush(host.queue));
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    wait_until(&nested, NESTED); /* each callback that a callback registers comes */
    MUST(clSetEventCallback(gate, CL_COMPLETE, on_ended, (void *)(size_t)NESTED));
    wait_until(&nested, 2 * NESTED); /* so it does for a user event */
    MUST(clReleaseEvent(gate));
    MUST(clReleaseEvent(event));
}

static cl_event in_a_row[IN_A_ROW];

static void CL_CALLBACK sets_next(cl_event event, cl_int status, void *number)
{
    size_t next = (size_t)number + 1;
    must_be(status == CL_COMPLETE && status_of(event) == CL_COMPLETE, "the event has ended");
    if (next < IN_A_ROW)
        MUST(clSetUserEventStatus(in_a_row[next], CL_COMPLETE));
    change(&ended_in_a_row, 1);
}

static void user_events_that_callbacks_set(void)
{
    for (size_t i = 0; i < IN_A_ROW; i++) {
        in_a_row[i] = user_event(&host);
        MUST(clSetEventCallback(in_a_row[i], CL_COMPLETE, sets_next, (void *)i));
    }
    MUST(clSetUserEventStatus(in_a_row[0], CL_COMPLETE));
    wait_until(&ended_in_a_row, IN_A_ROW);
    for (size_t i = 0; i < IN_A_ROW; i++)
        MUST(clReleaseEvent(in_a_row[i]));
}

static void order_of_states(void)
{
    cl_event gate = user_event(&host), marker;
    must(clEnqueueMarkerWithWaitList(host.queue, 1, &gate, &marker), "marker");
    MUST(clSetEventCallback(marker, CL_COMPLETE, on_state, NULL));
    MUST(clSetEventCallback(marker, CL_RUNNING, on_state, NULL));
    MUST(clSetEventCallback(marker, CL_SUBMITTED, on_state, NULL));
    MUST(clFlush(host.queue));
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    wait_until(&states_seen, 3); /* a callback comes for each state */
    printf("states: %d %d %d\n", states[0], states[1], states[2]);
    MUST(clReleaseEvent(marker));
    MUST(clReleaseEvent(gate));
}

static void order_of_destructors(void)
{
    static int which[3] = {0, 1, 2};
    cl_mem buffer = new_buffer(&host, 64);
    for (int i = 0; i < 3; i++)
        must(clSetMemObjectDestructorCallback(buffer, on_destroyed, &which[i]), "destructor");
    MUST(clReleaseMemObject(buffer));
    wait_until(&destroyed, 3); /* each destructor callback comes */
    must_be(destroyed_order[0] == 2 && destroyed_order[1] == 1 && destroyed_order[2] == 0,
            "the destructor callback registered last comes first");
    must(clReleaseMemObject(from_destructor), "release what a destructor callback made");
}

static void build_with_callback(void)
{
    const char *source = SPIN_SOURCE;
    cl_program program = new_source(&host, source);
    MUST(clBuildProgram(program, 1, &host.device, "", on_built, NULL));
    wait_until(&builds_done, 1); /* the build's callback comes */
    MUST(clReleaseKernel(from_build));
    MUST(clReleaseProgram(program));
}

int main(void)
{
    start(&host, SPIN_SOURCE);
    add = new_kernel(&host, "add");
    chain_of_callbacks();
    callbacks_in_callbacks();
    user_events_that_callbacks_set();
    order_of_states();
    order_of_destructors();
    build_with_callback();
    MUST(clReleaseKernel(add));
    stop(&host);
    puts("right");
    return 0;
}
