/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that wait for user events, while the host does something else: each argument names a
 * part. C has given the engine commands like them before. */
#include "usm.h"

enum { WORDS = 16, BYTES = WORDS * sizeof(cl_int), LEARNED = 4, GROUPS = 64, ROW = 50 };

static const char source[] = "kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }\n"
                             "kernel void until_set(global volatile int *flag)"
                             "{ while (atomic_add((volatile global int *)flag, 0) == 0); }\n";
static const char other_source[] =
    "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }\n";

static struct host host;
static cl_command_queue other;
static cl_kernel adding, polling;
static cl_mem buffer, second;

static void open_gate(cl_event gate, cl_int status)
{
    MUST(clSetUserEventStatus(gate, status));
    MUST(clReleaseEvent(gate));
}

static void add(cl_command_queue queue, cl_mem to, cl_int amount, cl_uint waits, cl_event *gate,
                cl_event *event)
{
    size_t size = WORDS;
    set_argument(adding, 0, sizeof to, &to);
    set_argument(adding, 1, sizeof amount, &amount);
    MUST(clEnqueueNDRangeKernel(queue, adding, 1, NULL, &size, NULL, waits, gate, event));
}

static void fill_both(cl_int value, cl_int value_of_second)
{
    fill(host.queue, buffer, value, BYTES);
    fill(host.queue, second, value_of_second, BYTES);
    MUST(clFinish(host.queue));
}

static void must_hold(cl_mem of, cl_int value, const char *what)
{
    cl_int found[WORDS];
    read_back(host.queue, of, BYTES, found);
    for (int i = 0; i < WORDS; i++)
        must_be(found[i] == value, what);
}

/* Until C knows what there is. */
static void learn(void)
{
    cl_mem buffers[] = {buffer, second};
    cl_command_queue queues[] = {host.queue, other};
    cl_int words[WORDS] = {0};
    for (int i = 0; i < 2 * LEARNED; i++) {
        fill(queues[i % 2], buffers[i / 2 % 2], 0, BYTES);
        add(queues[i % 2], buffers[i / 2 % 2], 1, 0, NULL, NULL);
        MUST(clEnqueueWriteBuffer(queues[i % 2], buffers[i / 2 % 2], CL_FALSE, 0, BYTES, words, 0,
                                  NULL, NULL));
        MUST(clFinish(queues[i % 2]));
    }
}

static void migrate_to_host(cl_command_queue queue, cl_mem moved)
{
    MUST(clEnqueueMigrateMemObjects(queue, 1, &moved, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    MUST(clFinish(queue));
}

/* What a buffer was moved from belongs to another one by then. */
static cl_mem take_place_of(cl_mem moved)
{
    migrate_to_host(other, moved);
    cl_mem taker = new_buffer(&host, BYTES);
    fill(other, taker, 7, BYTES);
    MUST(clFinish(other));
    return taker;
}

static cl_int written[WORDS], found[WORDS], spaced[2 * WORDS];
static cl_int *shared; /* virtual memory, of which the second half is copied to the first */
static const size_t from_start[3], rows[] = {4 * sizeof(cl_int), WORDS / 4, 1};
enum { SPACED = 8 * sizeof(cl_int) }; /* from row to row in `spaced` */

static cl_int enqueue_launch(cl_event gate, cl_event *event)
{
    add(host.queue, buffer, 1, 1, &gate, event);
    return CL_SUCCESS;
}

static cl_int enqueue_write(cl_event gate, cl_event *event)
{
    return clEnqueueWriteBuffer(host.queue, buffer, CL_FALSE, 0, BYTES, written, 1, &gate, event);
}

static cl_int enqueue_read(cl_event gate, cl_event *event)
{
    return clEnqueueReadBuffer(host.queue, buffer, CL_FALSE, 4, BYTES - 4, found + 1, 1, &gate,
                               event);
}

static cl_int enqueue_copy(cl_event gate, cl_event *event)
{
    return clEnqueueCopyBuffer(host.queue, second, buffer, 0, 0, BYTES, 1, &gate, event);
}

static cl_int enqueue_fill(cl_event gate, cl_event *event)
{
    const cl_int pattern = 40;
    return clEnqueueFillBuffer(host.queue, buffer, &pattern, sizeof pattern, 0, BYTES, 1, &gate,
                               event);
}

static cl_int enqueue_marker(cl_event gate, cl_event *event)
{
    return clEnqueueMarkerWithWaitList(host.queue, 1, &gate, event);
}

static cl_int enqueue_write_rect(cl_event gate, cl_event *event)
{
    return clEnqueueWriteBufferRect(host.queue, buffer, CL_FALSE, from_start, from_start, rows, 0,
                                    0, SPACED, 0, spaced, 1, &gate, event);
}

static cl_int enqueue_read_rect(cl_event gate, cl_event *event)
{
    return clEnqueueReadBufferRect(host.queue, buffer, CL_FALSE, from_start, from_start, rows, 0, 0,
                                   SPACED, 0, spaced, 1, &gate, event);
}

static cl_int enqueue_copy_rect(cl_event gate, cl_event *event)
{
    return clEnqueueCopyBufferRect(host.queue, second, buffer, from_start, from_start, rows, 0, 0,
                                   rows[0], 0, 1, &gate, event);
}

static cl_int enqueue_migration(cl_event gate, cl_event *event)
{
    return clEnqueueMigrateMemObjects(host.queue, 1, &buffer, 0, 1, &gate, event);
}

static cl_int enqueue_shared_copy(cl_event gate, cl_event *event)
{
    return clEnqueueSVMMemcpy(host.queue, CL_FALSE, shared, shared + WORDS, BYTES, 1, &gate, event);
}

static cl_int enqueue_shared_fill(cl_event gate, cl_event *event)
{
    const cl_int pattern = 40;
    return clEnqueueSVMMemFill(host.queue, shared, &pattern, sizeof pattern, BYTES, 1, &gate,
                               event);
}

static const struct {
    cl_int (*enqueue)(cl_event gate, cl_event *event);
    cl_int in_buffer, in_shared; /* afterwards */
} kinds[] = {
    {enqueue_launch, 111, 50},     {enqueue_write, 120, 50},       {enqueue_read, 110, 50},
    {enqueue_copy, 130, 50},       {enqueue_fill, 140, 50},        {enqueue_marker, 110, 50},
    {enqueue_write_rect, 120, 50}, {enqueue_read_rect, 110, 50},   {enqueue_copy_rect, 130, 50},
    {enqueue_migration, 110, 50},  {enqueue_shared_copy, 110, 60}, {enqueue_shared_fill, 110, 40},
};

static void prepare(void)
{
    for (int i = 0; i < WORDS; i++) {
        written[i] = 20;
        found[i] = 0;
        spaced[i] = i % 8 < 4 ? 20 : 99;
        spaced[WORDS + i] = spaced[i];
        shared[i] = 50;
        shared[WORDS + i] = 60;
    }
    learn();
    fill_both(10, 30);
}

static void check_what_was_read(void)
{
    must_be(found[1] == 10 && found[WORDS - 1] == 10 && found[0] == 0, "what was read");
}

static void check_rows(void)
{
    for (int i = 0; i < 2 * WORDS; i++)
        must_be(spaced[i] == (i % 8 < 4 ? 10 : 99), "the rows that were read");
}

static void moved(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        cl_event gate = user_event(&host), event;
        prepare();
        must(kinds[i].enqueue(gate, &event), "a command that waits");
        add(host.queue, buffer, 100, 0, NULL, NULL);
        cl_mem taker = take_place_of(buffer);
        must_be(status_of(event) == CL_QUEUED, "it waits for the user event");
        must_be(shared[0] == 50, "it waits for the user event");
        open_gate(gate, CL_COMPLETE);
        MUST(clWaitForEvents(1, &event));
        must_be(status_of(event) == CL_COMPLETE, "it has ended");
        must_hold(buffer, kinds[i].in_buffer, "the command was done where the buffer is");
        must_be(shared[0] == kinds[i].in_shared && shared[WORDS - 1] == kinds[i].in_shared,
                "what shared memory holds");
        if (kinds[i].enqueue == enqueue_read)
            check_what_was_read();
        if (kinds[i].enqueue == enqueue_read_rect)
            check_rows();
        must_hold(taker, 7, "it was not done where the buffer was");
        MUST(clReleaseEvent(event));
        MUST(clReleaseMemObject(taker));
    }
}

/* A copy into a buffer that C alone has made waits, while another buffer moves. */
static void made_in_c(void)
{
    cl_int written[WORDS] = {0};
    cl_event gate = user_event(&host);
    for (int i = 0; i < LEARNED; i++) {
        cl_mem made = new_buffer(&host, BYTES);
        fill(host.queue, made, 0, BYTES);
        MUST(clFinish(host.queue));
        MUST(clReleaseMemObject(made));
    }
    fill(host.queue, buffer, 2, BYTES);
    cl_mem made = new_buffer(&host, BYTES);
    write_buffer(host.queue, made, BYTES, written);
    MUST(clEnqueueCopyBuffer(host.queue, buffer, made, 0, 0, BYTES, 1, &gate, NULL));
    migrate_to_host(other, second);
    open_gate(gate, CL_COMPLETE);
    MUST(clFinish(host.queue));
    must_hold(made, 2, "it was copied");
}

/* A kernel of another program is launched for the first time meanwhile. */
static void programmed(void)
{
    cl_event gate = user_event(&host), event;
    cl_program program = new_program(&host, other_source, "");
    cl_kernel twice = kernel_in(program, "twice");
    fill(host.queue, buffer, 1, BYTES);
    MUST(clFinish(host.queue));
    add(host.queue, buffer, 1, 1, &gate, NULL);
    for (int i = 0; i < ROW; i++)
        add(host.queue, buffer, 1, 0, NULL, i == ROW - 1 ? &event : NULL);
    set_argument(twice, 0, sizeof second, &second);
    fill(other, second, 3, BYTES);
    launch(other, twice, WORDS, NULL);
    MUST(clFinish(other));
    open_gate(gate, CL_COMPLETE);
    MUST(clWaitForEvents(1, &event));
    must_hold(buffer, 2 + ROW, "all were launched");
    must_hold(second, 6, "the other kernel was launched");
}

static void learn_polling(void)
{
    static const cl_int zero = 0;
    prepare();
    set_argument(polling, 0, sizeof buffer, &buffer);
    for (int i = 0; i < LEARNED; i++) {
        fill(host.queue, buffer, 1, BYTES);
        launch(host.queue, polling, GROUPS, NULL);
        MUST(clFinish(host.queue));
    }
    write_buffer(host.queue, buffer, sizeof zero, &zero);
}

/* A kernel keeps all threads of the engine until what is enqueued behind it has been done. */
static void polled_at_once(void)
{
    enum { LONG = (2 << 20) / sizeof(cl_int) };
    static const cl_int one = 1, pattern = 20;
    static cl_int words[LONG];
    cl_mem large = new_buffer(&host, sizeof words);
    fill(host.queue, large, 5, sizeof words);
    learn_polling();
    words[0] = words[LONG - 1] = 30;
    launch(host.queue, polling, GROUPS, NULL);
    MUST(clFlush(host.queue));
    MUST(clEnqueueWriteBuffer(other, large, CL_FALSE, 0, sizeof words, words, 0, NULL, NULL));
    MUST(clEnqueueMarkerWithWaitList(other, 0, NULL, NULL));
    MUST(clEnqueueFillBuffer(other, second, &pattern, sizeof pattern, 0, BYTES, 0, NULL, NULL));
    MUST(clEnqueueWriteBuffer(other, buffer, CL_FALSE, 0, sizeof one, &one, 0, NULL, NULL));
    MUST(clFinish(other));
    MUST(clFinish(host.queue));
    words[0] = words[LONG - 1] = 0;
    read_back(other, large, sizeof words, words);
    must_be(words[0] == 30 && words[LONG - 1] == 30, "the long buffer that was written");
    must_hold(second, 20, "what was filled");
}

/* A kernel keeps all threads of the engine until what waits for the host has been done. */
static void polled(void)
{
    static const cl_int one = 1, pattern = 40;
    cl_event gate = user_event(&host);
    learn_polling();
    MUST(clEnqueueMarkerWithWaitList(other, 1, &gate, NULL));
    MUST(clEnqueueSVMMemcpy(other, CL_FALSE, shared, shared + WORDS, BYTES, 0, NULL, NULL));
    MUST(
        clEnqueueSVMMemFill(other, shared + WORDS, &pattern, sizeof pattern, BYTES, 0, NULL, NULL));
    MUST(clEnqueueWriteBufferRect(other, second, CL_FALSE, from_start, from_start, rows, 0, 0,
                                  SPACED, 0, spaced, 0, NULL, NULL));
    MUST(clEnqueueMigrateMemObjects(other, 1, &second, 0, 0, NULL, NULL));
    MUST(clEnqueueWriteBuffer(other, buffer, CL_FALSE, 0, sizeof one, &one, 0, NULL, NULL));
    launch(host.queue, polling, GROUPS, NULL);
    MUST(clFlush(host.queue));
    migrate_to_host(new_queue(&host), second);
    open_gate(gate, CL_COMPLETE);
    MUST(clFinish(other));
    MUST(clFinish(host.queue));
    must_be(shared[0] == 60 && shared[WORDS - 1] == 60, "what was copied in shared memory");
    must_be(shared[WORDS] == 40 && shared[2 * WORDS - 1] == 40,
            "what shared memory is filled with");
    must_hold(second, 20, "the rows that were written");
}

/* Nobody waits for commands of a queue out of order that he does not name. */
static void mapped(void)
{
    cl_event gate = user_event(&host), first;
    cl_command_queue free_queue = new_queue_with(&host, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    fill_both(1, 2);
    for (int i = 0; i < LEARNED; i++) {
        add(free_queue, second, 0, 0, NULL, NULL);
        MUST(clFinish(free_queue));
    }
    add(host.queue, buffer, 1, 1, &gate, &first);
    add(free_queue, buffer, 1, 1, &first, NULL);
    add(free_queue, second, 1, 0, NULL, NULL);
    must(clEnqueueBarrierWithWaitList(free_queue, 1, &first, NULL), "a barrier");
    cl_int *found = map_buffer(other, second, CL_MAP_READ, 0, BYTES);
    must_be(found[0] == 2 || found[0] == 3, "what is mapped");
    MUST(clEnqueueUnmapMemObject(other, second, found, 0, NULL, NULL));
    MUST(clFinish(other));
    open_gate(gate, CL_COMPLETE);
    MUST(clFinish(free_queue));
    must_hold(buffer, 3, "both were launched");
    must_hold(second, 3, "so was the one that waits for nothing");
}

/* What fails, and what follows it. */
static void failed(void)
{
    cl_int found = 0, status;
    cl_event gate = user_event(&host), events[3];
    MUST(clRetainEvent(gate));
    fill(host.queue, buffer, 1, BYTES);
    add(host.queue, buffer, 1, 1, &gate, &events[0]);
    add(other, buffer, 1, 1, &events[0], &events[1]);
    add(host.queue, buffer, 2, 0, NULL, &events[2]);
    must_be(status_of(gate) == CL_SUBMITTED, "a user event is submitted");
    open_gate(gate, -7);
    must_be(clSetUserEventStatus(gate, CL_COMPLETE) == CL_INVALID_OPERATION, "it is set once");
    must_be(status_of(gate) == -7, "it has the status that was set");
    must_be(clWaitForEvents(1, &gate) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
            "who waits for it is told");
    for (int i = 0; i < 2; i++) {
        must_be(clWaitForEvents(1, &events[i]) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
                "who waits for a command that has failed is told");
        must_be(status_of(events[i]) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
                "it fails with what it waits for");
    }
    MUST(clFinish(host.queue));
    status =
        clEnqueueReadBuffer(host.queue, buffer, CL_TRUE, 0, sizeof found, &found, 1, &gate, NULL);
    must_be(status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "a blocking read fails, too");
    must_hold(buffer, 3, "the others are done");
    for (int i = 0; i < 3; i++)
        MUST(clReleaseEvent(events[i]));
    MUST(clReleaseEvent(gate));
}

/* The host lets go of everything at once, but of the user event. */
static void released(void)
{
    cl_int value = 0;
    cl_event gate = user_event(&host);
    cl_mem own = new_buffer(&host, BYTES);
    cl_kernel kernel = new_kernel(&host, "add");
    cl_kernel before = adding;
    cl_command_queue queue = new_queue(&host);
    adding = kernel;
    for (int i = 0; i < LEARNED; i++) {
        fill(queue, own, 5, BYTES);
        add(queue, own, 0, 0, NULL, NULL);
        MUST(clFinish(queue));
    }
    add(queue, own, 1, 1, &gate, NULL);
    MUST(clEnqueueReadBuffer(queue, own, CL_FALSE, 0, sizeof value, &value, 0, NULL, NULL));
    adding = before;
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseMemObject(own));
    MUST(clReleaseCommandQueue(queue));
    open_gate(gate, CL_COMPLETE);
    while (__atomic_load_n(&value, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
    must_be(value == 6, "what was read");
}

/* Callbacks of a user event have returned before what waits for it begins. */

static volatile int called;

static void CL_CALLBACK writes(cl_event event, cl_int status, void *word)
{
    must_be(status == CL_COMPLETE && status_of(event) == CL_COMPLETE, "the status in a callback");
    usleep(1000);
    *(cl_int *)word = 50;
}

/* In every second round a command waits for it that Python decides. */
static void called_back(void)
{
    for (int round = 0; round < ROW; round++) {
        cl_int word = 0;
        cl_event gate = user_event(&host);
        learn();
        MUST(clSetEventCallback(gate, CL_COMPLETE, writes, &word));
        if (round % 2 == 1)
            MUST(clEnqueueMigrateMemObjects(other, 1, &second, CL_MIGRATE_MEM_OBJECT_HOST, 1, &gate,
                                            NULL));
        MUST(clEnqueueWriteBuffer(host.queue, buffer, CL_FALSE, 0, sizeof word, &word, 1, &gate,
                                  NULL));
        open_gate(gate, CL_COMPLETE);
        MUST(clFinish(host.queue));
        read_back(host.queue, buffer, sizeof word, &word);
        must_be(word == 50, "the callback came first");
    }
}

/* A callback waits for a command that another callback lets begin. */

static cl_event gate_of_callback, gated;

static void CL_CALLBACK waits(cl_event event, cl_int status, void *nothing)
{
    (void)event, (void)status, (void)nothing;
    MUST(clWaitForEvents(1, &gated));
    called++;
}

static void CL_CALLBACK opens(cl_event event, cl_int status, void *nothing)
{
    (void)event, (void)status, (void)nothing;
    open_gate(gate_of_callback, CL_COMPLETE);
    called++;
}

static void nested(void)
{
    for (int round = 0; round < ROW; round++) {
        cl_event before, behind;
        called = 0;
        gate_of_callback = user_event(&host);
        add(other, buffer, 1, 1, &gate_of_callback, &gated);
        add(host.queue, second, 1, 0, NULL, &before);
        add(host.queue, second, 1, 0, NULL, &behind);
        MUST(clSetEventCallback(before, CL_COMPLETE, waits, NULL));
        MUST(clSetEventCallback(behind, CL_COMPLETE, opens, NULL));
        MUST(clFlush(host.queue));
        while (called < 2)
            usleep(50);
        MUST(clReleaseEvent(before));
        MUST(clReleaseEvent(behind));
        MUST(clReleaseEvent(gated));
    }
}

/* The same where one callback makes the other one due, on its own thread. */

static void CL_CALLBACK sets_and_waits(cl_event event, cl_int status, void *inner)
{
    open_gate(inner, CL_COMPLETE);
    waits(event, status, NULL);
}

static void nested_by_itself(void)
{
    for (int round = 0; round < ROW; round++) {
        cl_event outer = user_event(&host), inner = user_event(&host);
        called = 0;
        gate_of_callback = user_event(&host);
        add(host.queue, buffer, 1, 1, &gate_of_callback, &gated);
        MUST(clSetEventCallback(outer, CL_COMPLETE, sets_and_waits, inner));
        MUST(clSetEventCallback(inner, CL_COMPLETE, opens, NULL));
        open_gate(outer, CL_COMPLETE);
        while (called < 2)
            usleep(50);
        MUST(clReleaseEvent(gated));
    }
}

/* Several threads set, wait, and enqueue. */

static void *sets(void *gate)
{
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    return NULL;
}

static void threads(void)
{
    fill(host.queue, buffer, 0, BYTES);
    MUST(clFinish(host.queue));
    for (int round = 0; round < 4 * ROW; round++) {
        pthread_t thread;
        cl_event gate = user_event(&host), event;
        pthread_create(&thread, NULL, sets, gate);
        add(host.queue, buffer, 1, 1, &gate, NULL);
        add(other, buffer, 1, 1, &gate, &event);
        if (round % 3 == 0)
            migrate_to_host(new_queue(&host), second);
        if (round % 2 == 0)
            MUST(clWaitForEvents(1, &gate));
        MUST(clFinish(host.queue));
        MUST(clWaitForEvents(1, &event));
        pthread_join(thread, NULL);
        MUST(clReleaseEvent(gate));
        MUST(clReleaseEvent(event));
    }
}

/* Freeing memory waits for the commands that are given it, and for no others. */

static void *sets_later(void *gate)
{
    usleep(20000);
    return sets(gate);
}

static void add_to(cl_int *memory, cl_uint waits, cl_event *gate, cl_event *event)
{
    size_t size = WORDS;
    cl_int amount = 1;
    MUST(set_pointer(adding, 0, memory));
    set_argument(adding, 1, sizeof amount, &amount);
    MUST(clEnqueueNDRangeKernel(host.queue, adding, 1, NULL, &size, NULL, waits, gate, event));
}

/* A kernel waits for the host. Freeing `beside` does not wait for it, but freeing `needed` does. */
static void free_beside(cl_int *used, cl_int *beside, cl_int *needed)
{
    cl_event gate = user_event(&host), event;
    pthread_t thread;
    add_to(used, 1, &gate, &event);
    MUST(blocking_free(host.context, beside));
    must_be(status_of(event) == CL_QUEUED, "it waits for the user event");
    pthread_create(&thread, NULL, sets_later, gate);
    MUST(blocking_free(host.context, needed));
    must_be(status_of(event) == CL_COMPLETE, "it has ended");
    pthread_join(thread, NULL);
}

static void freed(void)
{
    find_usm(&host);
    cl_int *used = allocate(&host, DEVICE, BYTES), *unused = allocate(&host, DEVICE, BYTES);
    for (int i = 0; i < 2 * LEARNED; i++) {
        add_to(i % 2 ? used : unused, 0, NULL, NULL);
        MUST(clFinish(host.queue));
    }
    free_beside(used, unused, used);
}

/* Freeing memory waits for kernels that may reach memory of its kind, and for no others. */
static void reach(bool by_clone)
{
    find_usm(&host);
    cl_int *used = allocate(&host, DEVICE, BYTES), *reachable = allocate(&host, DEVICE, BYTES);
    cl_int *other_kind = allocate(&host, HOST, BYTES);
    for (int i = 0; i < LEARNED; i++) {
        announce_device_access(adding);
        add_to(used, 0, NULL, NULL);
        MUST(clFinish(host.queue));
    }
    if (by_clone)
        adding = clCloneKernel(adding, NULL);
    free_beside(used, other_kind, reachable);
}

static void reached(void)
{
    reach(false);
}

static void reached_by_clone(void)
{
    reach(true);
}

/* Nobody sets it. */
static void never_set(void)
{
    cl_event gate = user_event(&host);
    add(host.queue, buffer, 1, 1, &gate, NULL);
    add(host.queue, buffer, 1, 0, NULL, NULL);
    fill(other, second, 1, BYTES);
    MUST(clFinish(other));
}

static const struct part parts[] = {{"moved", moved},
                                    {"made in C", made_in_c},
                                    {"programmed", programmed},
                                    {"polled", polled},
                                    {"polled at once", polled_at_once},
                                    {"mapped", mapped},
                                    {"failed", failed},
                                    {"released", released},
                                    {"called back", called_back},
                                    {"nested", nested},
                                    {"nested by itself", nested_by_itself},
                                    {"threads", threads},
                                    {"freed", freed},
                                    {"reached", reached},
                                    {"reached by a clone", reached_by_clone},
                                    {"never set", never_set}};

int main(int count, char **arguments)
{
    start(&host, source);
    shared = clSVMAlloc(host.context, CL_MEM_READ_WRITE, (size_t)(2 * BYTES), 0);
    must_be(shared != NULL, "clSVMAlloc");
    other = new_queue(&host);
    adding = new_kernel(&host, "add");
    polling = new_kernel(&host, "until_set");
    buffer = new_buffer(&host, BYTES);
    second = new_buffer(&host, BYTES);
    learn();
    must_be(count == 2, "a part is named");
    run_parts(parts, sizeof parts / sizeof parts[0], arguments[1]);
    return 0;
}
