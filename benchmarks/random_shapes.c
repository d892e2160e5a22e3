/* SPDX-License-Identifier: Apache-2.0
 *
 * What an iteration costs in random hosts: one or two queues of some kind, and a loop around a
 * launch and up to four other steps, which may have events and wait for the last one. A host is the
 * same for the same seed. Prints a line per host: its seed and steps, and the microseconds of an
 * iteration, the best of several rounds.
 *
 *     random_shapes FIRST_SEED HOSTS */
#include "shapes/host.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_STEPS = 5, MOST_BETWEEN_WAITS = 16, WARM_UP = 38, ITERATIONS = 200, ROUNDS = 3 };

/* The arguments of one step. */
struct step {
    cl_command_queue on;
    cl_mem x, y;
    cl_uint waits;
    const cl_event *list;
    cl_event *event;
    int number; /* of the iteration */
};

/* What a step does with events: a command may have one, and may wait for the last one. */
enum events { COMMAND, OF_THE_LAST, NONE };

struct kind {
    const char *name;
    void (*run)(const struct step *);
    enum events events;
};

static const struct {
    size_t origin[3], region[3];
} rectangle = {{0, 0, 0}, {16, 8, 1}};
static const size_t row = 64;
static cl_int data[LARGE / sizeof(cl_int)], result[LARGE / sizeof(cl_int)];
static uint64_t state;

static unsigned draw(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 11) % below);
}

static void run_launch(const struct step *step)
{
    launch_of(step->on, kernels[0], ITEMS, step->waits, step->list, step->event);
}

static void run_arguments(const struct step *step)
{
    set(kernels[0], step->x, step->y, step->number);
    run_launch(step);
}

static void run_other_program(const struct step *step)
{
    launch_of(step->on, kernels[1], 2 * ITEMS, step->waits, step->list, step->event);
}

static void run_task(const struct step *step)
{
    must(clEnqueueTask(step->on, kernels[2], step->waits, step->list, step->event),
         "clEnqueueTask");
}

/* The implementation chooses the size of the work-groups. */
static void run_any_group(const struct step *step)
{
    const size_t items[] = {16, 4};
    must(clEnqueueNDRangeKernel(step->on, kernels[3], 2, NULL, items, NULL, step->waits, step->list,
                                step->event),
         "clEnqueueNDRangeKernel");
}

static void run_new_kernel(const struct step *step)
{
    cl_kernel made = new_kernel("scale");
    set(made, step->x, step->y, step->number);
    launch_of(step->on, made, ITEMS, step->waits, step->list, step->event);
    must(clReleaseKernel(made), "clReleaseKernel");
}

/* Launches on a buffer, and releases it. */
static void launch_on(const struct step *step, cl_mem buffer)
{
    set(kernels[4], buffer, step->y, 1);
    launch_of(step->on, kernels[4], ITEMS, step->waits, step->list, step->event);
    set(kernels[4], step->x, step->y, 1);
    must(clReleaseMemObject(buffer), "clReleaseMemObject");
}

static void run_new_buffer(const struct step *step)
{
    launch_on(step, new_buffer(CL_MEM_READ_WRITE, LARGE >> step->number % 3, NULL));
}

static void run_new_copied(const struct step *step)
{
    launch_on(step, new_buffer(CL_MEM_COPY_HOST_PTR, LARGE / 16, data));
}

static void run_new_part(const struct step *step)
{
    const cl_buffer_region region = {LARGE / 4, LARGE / 4};
    cl_int status;
    cl_mem made = clCreateSubBuffer(step->x, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                    &region, &status);
    must(status, "clCreateSubBuffer");
    launch_on(step, made);
}

static void write_some(const struct step *step, cl_bool blocking, size_t size)
{
    must(clEnqueueWriteBuffer(step->on, step->x, blocking, 0, size, data, step->waits, step->list,
                              step->event),
         "clEnqueueWriteBuffer");
}

static void read_some(const struct step *step, cl_bool blocking, size_t size)
{
    must(clEnqueueReadBuffer(step->on, step->x, blocking, 0, size, result, step->waits, step->list,
                             step->event),
         "clEnqueueReadBuffer");
}

static void run_write(const struct step *step)
{
    write_some(step, CL_FALSE, SMALL);
}

static void run_large_write(const struct step *step)
{
    write_some(step, CL_FALSE, LARGE);
}

static void run_blocking_write(const struct step *step)
{
    write_some(step, CL_TRUE, SMALL);
}

static void run_read(const struct step *step)
{
    read_some(step, CL_FALSE, SMALL);
}

static void run_blocking_read(const struct step *step)
{
    read_some(step, CL_TRUE, LARGE);
}

static void run_copy(const struct step *step)
{
    must(clEnqueueCopyBuffer(step->on, step->x, step->y, 0, LARGE / 2, SMALL, step->waits,
                             step->list, step->event),
         "clEnqueueCopyBuffer");
}

static void run_fill(const struct step *step)
{
    must(clEnqueueFillBuffer(step->on, step->x, &step->number, sizeof step->number, 0, SMALL,
                             step->waits, step->list, step->event),
         "clEnqueueFillBuffer");
}

static void run_rectangle(const struct step *step)
{
    must(clEnqueueWriteBufferRect(step->on, step->x, CL_FALSE, rectangle.origin, rectangle.origin,
                                  rectangle.region, row, 0, 0, 0, data, step->waits, step->list,
                                  step->event),
         "clEnqueueWriteBufferRect");
}

static void run_copied_rectangle(const struct step *step)
{
    must(clEnqueueCopyBufferRect(step->on, step->x, step->y, rectangle.origin, rectangle.origin,
                                 rectangle.region, row, 0, 0, 0, step->waits, step->list,
                                 step->event),
         "clEnqueueCopyBufferRect");
}

static void run_map(const struct step *step)
{
    cl_int status;
    void *at = clEnqueueMapBuffer(step->on, step->x, CL_TRUE, CL_MAP_READ, 0, SMALL, step->waits,
                                  step->list, NULL, &status);
    must(status, "clEnqueueMapBuffer");
    must(clEnqueueUnmapMemObject(step->on, step->x, at, 0, NULL, step->event),
         "clEnqueueUnmapMemObject");
}

static void run_migration(const struct step *step)
{
    must(clEnqueueMigrateMemObjects(step->on, 1, &step->x, 0, step->waits, step->list, step->event),
         "clEnqueueMigrateMemObjects");
}

static void run_marker(const struct step *step)
{
    must(clEnqueueMarkerWithWaitList(step->on, step->waits, step->list, step->event),
         "clEnqueueMarkerWithWaitList");
}

static void run_barrier(const struct step *step)
{
    must(clEnqueueBarrierWithWaitList(step->on, step->waits, step->list, step->event),
         "clEnqueueBarrierWithWaitList");
}

static void run_user_event(const struct step *step)
{
    cl_int status;
    cl_event made = clCreateUserEvent(context, &status);
    must(status, "clCreateUserEvent");
    launch_of(step->on, kernels[0], ITEMS, 1, &made, step->event);
    must(clSetUserEventStatus(made, CL_COMPLETE), "clSetUserEventStatus");
    must(clReleaseEvent(made), "clReleaseEvent");
}

static void run_flush(const struct step *step)
{
    must(clFlush(step->on), "clFlush");
}

static void run_finish(const struct step *step)
{
    must(clFinish(step->on), "clFinish");
}

static void run_wait(const struct step *step)
{
    if (step->waits > 0)
        must(clWaitForEvents(step->waits, step->list), "clWaitForEvents");
}

static void run_query(const struct step *step)
{
    cl_int found;
    if (step->waits > 0)
        must(clGetEventInfo(step->list[0], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof found, &found,
                            NULL),
             "clGetEventInfo");
}

static void CL_CALLBACK ended(cl_event event, cl_int status, void *data_of_host)
{
    (void)event, (void)status, (void)data_of_host;
}

static void run_callback(const struct step *step)
{
    if (step->waits > 0)
        must(clSetEventCallback(step->list[0], CL_COMPLETE, ended, NULL), "clSetEventCallback");
}

/* The first LAUNCHES are launches. */
static const struct kind kinds[] = {
    {"launch", run_launch, COMMAND},
    {"launch with arguments", run_arguments, COMMAND},
    {"launch of another program", run_other_program, COMMAND},
    {"task", run_task, COMMAND},
    {"launch with any group", run_any_group, COMMAND},
    {"new kernel", run_new_kernel, COMMAND},
    {"new buffer", run_new_buffer, COMMAND},
    {"new copied buffer", run_new_copied, COMMAND},
    {"new sub-buffer", run_new_part, COMMAND},
    {"user event", run_user_event, COMMAND},
    {"write", run_write, COMMAND},
    {"large write", run_large_write, COMMAND},
    {"blocking write", run_blocking_write, COMMAND},
    {"read", run_read, COMMAND},
    {"blocking read", run_blocking_read, COMMAND},
    {"copy", run_copy, COMMAND},
    {"fill", run_fill, COMMAND},
    {"rectangle", run_rectangle, COMMAND},
    {"copied rectangle", run_copied_rectangle, COMMAND},
    {"map", run_map, COMMAND},
    {"migration", run_migration, COMMAND},
    {"marker", run_marker, COMMAND},
    {"barrier", run_barrier, COMMAND},
    {"flush", run_flush, NONE},
    {"finish", run_finish, NONE},
    {"wait for the last event", run_wait, OF_THE_LAST},
    {"status of the last event", run_query, OF_THE_LAST},
    {"callback of the last event", run_callback, OF_THE_LAST},
};
enum { LAUNCHES = 10, KINDS = sizeof kinds / sizeof *kinds };

/* How often the host waits, and for what. */
enum ending { FLUSH, FINISH, LAST_EVENT, READ, ENDINGS };
static const char *const endings[] = {"flush", "finish", "wait for the last event",
                                      "blocking read"};

static struct host {
    cl_command_queue_properties properties;
    int queues, steps, between_waits;
    enum ending ending;
    struct {
        const struct kind *kind;
        int has_event, waits, on;
        cl_mem x, y;
    } loop[MOST_STEPS];
} host;

static void draw_host(unsigned seed)
{
    state = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
    draw(2);
    host.properties = draw(3) ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    host.properties |= draw(3) ? 0 : CL_QUEUE_PROFILING_ENABLE;
    host.queues = draw(3) ? 1 : 2;
    host.steps = 1 + (int)draw(MOST_STEPS);
    host.between_waits = draw(2) ? 1 : 1 + (int)draw(MOST_BETWEEN_WAITS);
    host.ending = (enum ending)draw(ENDINGS);
    for (int i = 0; i < host.steps; i++) {
        host.loop[i].kind = &kinds[draw(i == 0 ? LAUNCHES : KINDS)];
        enum events events = host.loop[i].kind->events;
        host.loop[i].has_event = events == COMMAND && draw(3) == 0;
        host.loop[i].waits = events == OF_THE_LAST || (events == COMMAND && draw(3) == 0);
        host.loop[i].on = (int)draw((unsigned)host.queues);
        unsigned x = draw(BUFFERS);
        host.loop[i].x = buffers[x];
        host.loop[i].y = buffers[(x + 1 + draw(BUFFERS - 1)) % BUFFERS];
    }
}

/* Prints its name, with '_' for spaces. */
static void print_host(unsigned seed)
{
    char name[512];
    int length =
        snprintf(name, sizeof name, "%u: %s%s%d queue%s, %s after %d:", seed,
                 host.properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? "out of order, " : "",
                 host.properties & CL_QUEUE_PROFILING_ENABLE ? "profiling, " : "", host.queues,
                 host.queues > 1 ? "s" : "", endings[host.ending], host.between_waits);
    for (int i = 0; i < host.steps; i++)
        length += snprintf(
            name + length, sizeof name - (size_t)length, "%s %s%s%s", i > 0 ? "," : "",
            host.loop[i].kind->name,
            host.loop[i].waits && host.loop[i].kind->events == COMMAND ? " that waits" : "",
            host.loop[i].has_event ? " with an event" : "");
    for (char *each = name; *each != '\0'; each++)
        putchar(*each == ' ' ? '_' : *each);
}

static cl_command_queue queues[2];
static cl_event last; /* NULL: none yet */

static void iterate(int number)
{
    for (int i = 0; i < host.steps; i++) {
        cl_event made = NULL;
        const struct step step = {
            .on = queues[host.loop[i].on],
            .x = host.loop[i].x,
            .y = host.loop[i].y,
            .waits = host.loop[i].waits && last != NULL,
            .list = host.loop[i].waits && last != NULL ? &last : NULL,
            .event = host.loop[i].has_event ? &made : NULL,
            .number = number,
        };
        host.loop[i].kind->run(&step);
        if (made == NULL)
            continue;
        if (last != NULL)
            must(clReleaseEvent(last), "clReleaseEvent");
        last = made;
        if (host.queues > 1) /* another queue may wait for it */
            must(clFlush(step.on), "clFlush");
    }
}

static void end(void)
{
    if (host.ending == READ)
        read_small(buffers[0], CL_TRUE, result, 0, NULL, NULL);
    else if (host.ending == LAST_EVENT && last != NULL)
        must(clWaitForEvents(1, &last), "clWaitForEvents");
    for (int i = 0; i < host.queues; i++)
        must(host.ending == FINISH ? clFinish(queues[i]) : clFlush(queues[i]), "the end");
}

static double run_host(int count)
{
    double begin, time;
    for (int i = 0; i < host.queues; i++)
        queues[i] = new_queue(host.properties);
    queue = queues[0];
    begin = now();
    for (int i = 0; i < count; i++) {
        iterate(i);
        if (i % host.between_waits == host.between_waits - 1)
            end();
    }
    for (int i = 0; i < host.queues; i++)
        must(clFinish(queues[i]), "clFinish");
    time = now() - begin;
    for (int i = 0; i < host.queues; i++)
        must(clReleaseCommandQueue(queues[i]), "clReleaseCommandQueue");
    if (last != NULL)
        must(clReleaseEvent(last), "clReleaseEvent");
    last = NULL;
    return time / count;
}

int main(int count, char **words)
{
    unsigned first = count == 3 ? (unsigned)atoi(words[1]) : 0;
    unsigned hosts = count == 3 ? (unsigned)atoi(words[2]) : 0;
    start();
    for (unsigned seed = first; seed < first + hosts; seed++) {
        draw_host(seed);
        double best = run_host(WARM_UP);
        for (int round = 0; round < ROUNDS; round++) {
            double time = run_host(ITERATIONS);
            best = time < best ? time : best;
        }
        print_host(seed);
        printf(" %.3f\n", best);
        fflush(stdout);
    }
    return 0;
}
