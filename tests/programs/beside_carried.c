/* SPDX-License-Identifier: Apache-2.0
 *
 * What may happen beside commands that C gives to the engine by itself: each argument names a part.
 */
#include "host.h"

#include <sys/mman.h>

enum { WORDS = 16, BYTES = WORDS * sizeof(cl_int), LEARNED = 4, ROUNDS = 60, GROUPS = 64 };

static const char source[] =
    "kernel void add(global int *x) { x[get_global_id(0)] += 1; }\n"
    "kernel void spin(global int *x, int rounds)"
    "{ int sum = x[0]; for (int i = 0; i < rounds; i++) sum = sum * 3 + i; x[0] = sum; }\n"
    "kernel void until_set(global volatile int *flag)"
    "{ while (atomic_add((volatile global int *)flag, 0) == 0); }\n";

static struct host host;
static cl_command_queue other;
static cl_kernel adding, spinning, polling;

static void write_one(cl_command_queue queue, cl_mem buffer, cl_int value, cl_bool blocking)
{
    static cl_int kept;
    kept = value;
    MUST(clEnqueueWriteBuffer(queue, buffer, blocking, 0, sizeof kept, &kept, 0, NULL, NULL));
}

/* Until C knows the queue, the buffer and the kernels. */
static void learn(cl_command_queue queue, cl_mem buffer, cl_int rounds)
{
    set_argument(adding, 0, sizeof buffer, &buffer);
    set_argument(spinning, 0, sizeof buffer, &buffer);
    set_argument(spinning, 1, sizeof rounds, &rounds);
    for (int i = 0; i < LEARNED; i++) {
        launch(queue, adding, 1, NULL);
        launch(queue, spinning, 1, NULL);
        MUST(clFinish(queue));
        write_one(queue, buffer, 0, CL_TRUE);
    }
}

/* A destructor callback that enqueues a command itself, while a call of the same thread goes on. */

static cl_mem buffer_of_callback;
static cl_event gate;
static volatile int called;

static void CL_CALLBACK enqueues(cl_mem gone, void *nothing)
{
    (void)gone, (void)nothing;
    fill(other, buffer_of_callback, 7, BYTES);
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clFlush(other));
    called = 1;
}

static void nested(void)
{
    cl_mem buffer = new_buffer(&host, BYTES);
    buffer_of_callback = new_buffer(&host, BYTES);
    learn(other, buffer_of_callback, 200000);
    learn(host.queue, buffer, 200000);
    for (cl_int round = 0; round < ROUNDS; round++) {
        cl_int status, found = -1;
        cl_event filled;
        cl_mem dying = new_buffer(&host, BYTES), written = new_buffer(&host, BYTES);
        called = 0;
        gate = user_event(&host);
        for (int i = 0; i < 2; i++) {
            fill(host.queue, dying, 0, BYTES);
            MUST(clFinish(host.queue));
        }
        must(clSetMemObjectDestructorCallback(dying, enqueues, NULL), "a destructor callback");
        MUST(clEnqueueMarkerWithWaitList(other, 1, &gate, NULL));
        launch(host.queue, spinning, 1, NULL);
        status = 0;
        MUST(clEnqueueFillBuffer(host.queue, dying, &status, sizeof status, 0, BYTES, 0, NULL,
                                 &filled));
        MUST(clReleaseMemObject(dying));
        while (status_of(filled) > CL_COMPLETE)
            ;
        write_one(host.queue, written, round, CL_FALSE); /* the callback may come within it */
        MUST(clFinish(host.queue));
        read_back(host.queue, written, sizeof found, &found);
        must_be(found == round, "a write of which the call succeeds is done");
        while (!called)
            must(clGetPlatformInfo(host.platform, CL_PLATFORM_NAME, 0, NULL, NULL), "a query");
        MUST(clFinish(other));
        MUST(clReleaseMemObject(written));
        MUST(clReleaseEvent(gate));
        MUST(clReleaseEvent(filled));
    }
}

/* A kernel that keeps all threads of the engine until a command of another queue has been run. */
static void polled(bool migrates)
{
    cl_mem flag = new_buffer(&host, BYTES), beside = new_buffer(&host, BYTES);
    size_t size = migrates ? 1 : GROUPS;
    set_argument(polling, 0, sizeof flag, &flag);
    for (int i = 0; i < LEARNED; i++) {
        write_one(other, flag, 1, CL_TRUE);
        write_one(other, beside, 1, CL_TRUE);
        launch(host.queue, polling, size, NULL);
        MUST(clFinish(host.queue));
    }
    write_one(other, flag, 0, CL_TRUE);
    launch(host.queue, polling, size, NULL);
    MUST(clFlush(host.queue));
    if (migrates) {
        MUST(clEnqueueMigrateMemObjects(other, 1, &beside, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL,
                                        NULL));
        MUST(clFinish(other));
    }
    write_one(other, flag, 1, CL_FALSE);
    MUST(clFinish(other));
    MUST(clFinish(host.queue));
}

static void written_while_polled(void)
{
    polled(false);
}

static void migrated_beside(void)
{
    polled(true);
}

/* A callback waits for a mutex that its host holds in clFinish(). */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void CL_CALLBACK takes_mutex(cl_event event, cl_int status, void *nothing)
{
    (void)event, (void)status, (void)nothing;
    pthread_mutex_lock(&mutex);
    called = 1;
    pthread_mutex_unlock(&mutex);
}

static void finished_with_a_mutex(void)
{
    cl_mem buffer = new_buffer(&host, BYTES), migrated = new_buffer(&host, BYTES);
    learn(host.queue, buffer, 2000000);
    for (int round = 0; round < 20; round++) {
        cl_event launched, behind;
        called = 0;
        launch(host.queue, spinning, 1, &launched);
        MUST(clEnqueueMigrateMemObjects(other, 1, &migrated, 0, 1, &launched, &behind));
        MUST(clSetEventCallback(behind, CL_COMPLETE, takes_mutex, NULL));
        MUST(clFlush(host.queue));
        MUST(clFlush(other));
        pthread_mutex_lock(&mutex);
        MUST(clFinish(host.queue));
        pthread_mutex_unlock(&mutex);
        MUST(clFinish(other));
        while (!called)
            usleep(100);
        MUST(clReleaseEvent(launched));
        MUST(clReleaseEvent(behind));
    }
}

/* Times, also of a command that follows one of a queue without profiling. */

static cl_ulong time_of(cl_event event, cl_profiling_info stage)
{
    cl_ulong time;
    must(clGetEventProfilingInfo(event, stage, sizeof time, &time, NULL), "a time");
    return time;
}

static void check_times(cl_event event)
{
    cl_ulong queued = time_of(event, CL_PROFILING_COMMAND_QUEUED);
    cl_ulong submitted = time_of(event, CL_PROFILING_COMMAND_SUBMIT);
    for (int i = 0; i < 1000; i++) {
        cl_ulong begun = time_of(event, CL_PROFILING_COMMAND_START);
        cl_ulong ended = time_of(event, CL_PROFILING_COMMAND_END);
        must_be(queued <= submitted && submitted <= begun && begun <= ended, "times are in order");
        must_be(begun == time_of(event, CL_PROFILING_COMMAND_START), "a time does not change");
    }
}

static void times(void)
{
    cl_event launched, marker, waits[2];
    cl_mem buffer = new_buffer(&host, BYTES);
    cl_command_queue profiling = new_queue_with(&host, CL_QUEUE_PROFILING_ENABLE);
    learn(host.queue, buffer, 200000);
    learn(profiling, buffer, 200000);
    launch(profiling, spinning, 1, &launched);
    MUST(clFinish(profiling));
    check_times(launched);
    waits[1] = user_event(&host);
    launch(host.queue, spinning, 1, &waits[0]);
    must(clEnqueueMarkerWithWaitList(profiling, 2, waits, &marker), "a marker");
    MUST(clSetUserEventStatus(waits[1], CL_COMPLETE));
    MUST(clFinish(profiling));
    check_times(marker);
    MUST(clReleaseEvent(marker));
    /* One that comes after a user event, when another queue runs. */
    waits[0] = user_event(&host);
    must(clEnqueueMarkerWithWaitList(profiling, 1, waits, &marker), "a marker");
    launch(other, spinning, 1, &launched);
    MUST(clFlush(other));
    MUST(clSetUserEventStatus(waits[0], CL_COMPLETE));
    MUST(clWaitForEvents(1, &marker));
    check_times(marker);
    MUST(clFinish(other));
}

/* The last that a released buffer is needed for is a command. */

static void CL_CALLBACK buffer_gone(cl_mem buffer, void *nothing)
{
    (void)buffer, (void)nothing;
    called = 1;
}

static void buffer_of_command(void)
{
    cl_mem buffer = new_buffer(&host, BYTES), dying = new_buffer(&host, BYTES);
    learn(host.queue, buffer, 2000000);
    fill(host.queue, dying, 0, BYTES);
    MUST(clFinish(host.queue));
    called = 0;
    must(clSetMemObjectDestructorCallback(dying, buffer_gone, NULL), "a destructor callback");
    launch(host.queue, spinning, 1, NULL);
    fill(host.queue, dying, 1, BYTES);
    MUST(clFlush(host.queue));
    MUST(clReleaseMemObject(dying));
    while (!called) /* without another call */
        usleep(100);
}

/* The last that a context is needed for is an event. */

static void CL_CALLBACK context_gone(cl_context context, void *nothing)
{
    (void)context, (void)nothing;
    called = 1;
}

static cl_mem begin_last_event(void)
{
    cl_mem buffer = new_buffer(&host, BYTES);
    learn(host.queue, buffer, 10);
    called = 0;
    must(clSetContextDestructorCallback(host.context, context_gone, NULL), "a destructor callback");
    return buffer;
}

static void end_last_event(cl_mem buffer, cl_event event)
{
    MUST(clReleaseKernel(adding));
    MUST(clReleaseKernel(spinning));
    MUST(clReleaseKernel(polling));
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseCommandQueue(other));
    stop(&host);
    MUST(clReleaseEvent(event));
    while (!called) /* without another call */
        usleep(100);
}

static void context_of_event(void)
{
    cl_event event;
    cl_mem buffer = begin_last_event();
    launch(host.queue, adding, 1, &event);
    MUST(clFinish(host.queue));
    end_last_event(buffer, event);
}

static void CL_CALLBACK never_comes(cl_event event, cl_int status, void *nothing)
{
    (void)event, (void)status, (void)nothing;
    must_be(false, "an event that nobody has set calls back");
}

static void never_called_back(bool is_seen)
{
    cl_mem buffer = begin_last_event();
    cl_event gate = user_event(&host);
    MUST(clSetEventCallback(gate, CL_COMPLETE, never_comes, NULL));
    if (is_seen) /* by Python */
        must_be(clGetEventInfo(gate, 0, 0, NULL, NULL) == CL_INVALID_VALUE, "the query is wrong");
    MUST(clSetEventCallback(gate, CL_RUNNING, never_comes, NULL));
    end_last_event(buffer, gate);
}

static void context_of_event_never_set(void)
{
    never_called_back(false);
}

static void context_of_seen_event_never_set(void)
{
    never_called_back(true);
}

/* Memory that a command frees, while the host makes no other call. */
static void freed_by_a_queue(void)
{
    enum { TURNS = 20, SIZE = 64 << 10 };
    unsigned char page;
    for (int i = 0; i < TURNS; i++) {
        void *memory = clSVMAlloc(host.context, CL_MEM_READ_WRITE, SIZE, 0);
        MUST(clSetKernelArgSVMPointer(adding, 0, memory));
        launch(host.queue, adding, WORDS, NULL);
        MUST(clEnqueueSVMFree(host.queue, 1, &memory, NULL, NULL, 0, NULL, NULL));
        MUST(clFlush(host.queue));
        while (mincore(memory, 1, &page) == 0)
            usleep(100);
    }
}

/* A callback, which C makes, registers one for a command of Python's that has ended. */

static _Thread_local int in_callback;

static void CL_CALLBACK behind(cl_event event, cl_int status, void *nothing)
{
    (void)event, (void)status, (void)nothing;
    must_be(!in_callback, "a callback is called behind the one that registers it");
    called = 1;
}

static void CL_CALLBACK registers(cl_event event, cl_int status, void *ended)
{
    (void)event, (void)status;
    in_callback = 1;
    MUST(clSetEventCallback((cl_event)ended, CL_COMPLETE, behind, NULL));
    in_callback = 0;
}

static void callback_in_a_callback(void)
{
    cl_mem buffer = new_buffer(&host, BYTES), moved = new_buffer(&host, BYTES);
    cl_event ended, event;
    learn(host.queue, buffer, 1 << 20);
    write_one(other, moved, 1, CL_TRUE);
    MUST(clEnqueueMigrateMemObjects(other, 1, &moved, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, &ended));
    MUST(clFinish(other));
    learn(host.queue, buffer, 1 << 20);
    called = 0;
    launch(host.queue, spinning, 1, &event);
    MUST(clSetEventCallback(event, CL_COMPLETE, registers, ended));
    MUST(clFinish(host.queue));
    while (!called)
        sched_yield();
    MUST(clReleaseEvent(event));
    MUST(clReleaseEvent(ended));
}

static const struct part parts[] = {
    {"nested", nested},
    {"callback in a callback", callback_in_a_callback},
    {"written while polled", written_while_polled},
    {"migrated beside", migrated_beside},
    {"finished with a mutex", finished_with_a_mutex},
    {"times", times},
    {"buffer of a command", buffer_of_command},
    {"context of an event", context_of_event},
    {"context of an event that is never set", context_of_event_never_set},
    {"context of a seen event that is never set", context_of_seen_event_never_set},
    {"freed by a queue", freed_by_a_queue}};

int main(int count, char **arguments)
{
    start(&host, source);
    other = new_queue(&host);
    adding = new_kernel(&host, "add");
    spinning = new_kernel(&host, "spin");
    polling = new_kernel(&host, "until_set");
    must_be(count == 2, "a part is named");
    run_parts(parts, sizeof parts / sizeof parts[0], arguments[1]);
    return 0;
}
