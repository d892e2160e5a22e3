/* SPDX-License-Identifier: Apache-2.0
 *
 * The same few kernels are launched again and again, mostly without events, while arguments,
 * buffers and ND-ranges change in between and other calls come at random. Each launch works on what
 * was set when it was enqueued, and all of a queue take effect in their order.
 *
 *     recurring [SECONDS [THREADS [SEED]]]
 *
 * Each thread has a queue, kernels and buffers of its own, and knows what its buffers hold. */
#include "host.h"

enum { BUFFERS = 6, WORDS = 64, KINDS = 2, THREADS = 2 };

static const char source[] =
    "kernel void blend(global uint *x, uint a, uint b) {\n"
    "    x[get_global_id(0)] = x[get_global_id(0)] * a + b;\n"
    "}\n"
    "kernel void gather(global const uint *from, global uint *to, local uint *seen) {\n"
    "    seen[get_local_id(0)] = from[get_global_id(0)];\n"
    "    to[get_global_id(0)] = to[get_global_id(0)] * 3 + seen[get_local_id(0)];\n"
    "}\n";

static struct host host;
static double length = 3;

struct actor {
    pthread_t thread;
    uint64_t state; /* of the random numbers */
    cl_command_queue queue;
    cl_kernel mix, join;
    cl_mem buffers[BUFFERS];
    cl_uint holds[BUFFERS][WORDS];
    unsigned joined; /* the buffers that `join` was given last */
    unsigned mixed;
    cl_uint a, b;
    cl_event last; /* of some launch */
    unsigned long launches;
};

static unsigned any(struct actor *actor, unsigned below)
{
    actor->state = actor->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(actor->state >> 33) % below;
}

static void new_kernels(struct actor *actor)
{
    cl_int status;
    actor->mix = clCreateKernel(host.program, "blend", &status);
    must(status, "clCreateKernel");
    actor->join = clCreateKernel(host.program, "gather", &status);
    must(status, "clCreateKernel");
    actor->mixed = 0;
    actor->a = 5;
    actor->b = 7;
    actor->joined = 1;
    set_argument(actor->mix, 0, sizeof(cl_mem), &actor->buffers[0]);
    set_argument(actor->mix, 1, sizeof actor->a, &actor->a);
    set_argument(actor->mix, 2, sizeof actor->b, &actor->b);
    set_argument(actor->join, 0, sizeof(cl_mem), &actor->buffers[0]);
    set_argument(actor->join, 1, sizeof(cl_mem), &actor->buffers[1]);
    set_argument(actor->join, 2, WORDS * sizeof(cl_uint), NULL);
}

static void write_all(struct actor *actor, unsigned number)
{
    for (unsigned i = 0; i < WORDS; i++)
        actor->holds[number][i] = any(actor, 1000);
    must(clEnqueueWriteBuffer(actor->queue, actor->buffers[number], CL_TRUE, 0,
                              sizeof actor->holds[number], actor->holds[number], 0, NULL, NULL),
         "clEnqueueWriteBuffer");
}

static void check(struct actor *actor, unsigned number)
{
    cl_uint found[WORDS];
    must(clEnqueueReadBuffer(actor->queue, actor->buffers[number], CL_TRUE, 0, sizeof found, found,
                             0, NULL, NULL),
         "clEnqueueReadBuffer");
    must_be(memcmp(found, actor->holds[number], sizeof found) == 0,
            "a buffer holds what the launches have left in it");
}

static void enqueue(struct actor *actor, cl_kernel kernel, const size_t *offset,
                    const size_t *global, const size_t *local)
{
    unsigned wish = any(actor, 40);
    cl_event event = NULL;
    must(clEnqueueNDRangeKernel(actor->queue, kernel, 1, offset, global, local, 0, NULL,
                                wish < 10 ? &event : NULL),
         "clEnqueueNDRangeKernel");
    if (wish == 0) {
        if (actor->last != NULL)
            must(clReleaseEvent(actor->last), "clReleaseEvent");
        actor->last = event;
    } else if (wish < 10) {
        must(clReleaseEvent(event), "clReleaseEvent");
    }
}

static void wait_for_last(struct actor *actor)
{
    cl_int status;
    cl_command_queue queue;
    if (actor->last == NULL)
        return;
    must(clWaitForEvents(1, &actor->last), "clWaitForEvents");
    must(clGetEventInfo(actor->last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                        NULL),
         "clGetEventInfo");
    must_be(status == CL_COMPLETE, "a launch that was waited for is complete");
    must(clGetEventInfo(actor->last, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL),
         "clGetEventInfo");
    must(clReleaseEvent(actor->last), "clReleaseEvent");
    actor->last = NULL;
}

static void launch_mix(struct actor *actor)
{
    size_t all = WORDS, half = WORDS / 2, offset = any(actor, 2) ? half : 0;
    bool whole = any(actor, 4) != 0;
    if (any(actor, 2)) {
        actor->a = any(actor, 100) * 2 + 1;
        set_argument(actor->mix, 1, sizeof actor->a, &actor->a);
    }
    if (any(actor, 3) == 0) {
        actor->b = any(actor, 100);
        set_argument(actor->mix, 2, sizeof actor->b, &actor->b);
    }
    if (any(actor, 3) == 0) {
        actor->mixed = any(actor, BUFFERS);
        set_argument(actor->mix, 0, sizeof(cl_mem), &actor->buffers[actor->mixed]);
    }
    enqueue(actor, actor->mix, whole ? NULL : &offset, whole ? &all : &half, NULL);
    cl_uint *holds = actor->holds[actor->mixed];
    for (size_t i = whole ? 0 : offset; i < (whole ? all : offset + half); i++)
        holds[i] = holds[i] * actor->a + actor->b;
}

static void launch_join(struct actor *actor)
{
    size_t all = WORDS, group = any(actor, 2) ? 8 : WORDS;
    if (any(actor, 3) == 0) {
        actor->joined = 1 + any(actor, BUFFERS - 1);
        set_argument(actor->join, 1, sizeof(cl_mem), &actor->buffers[actor->joined]);
    }
    enqueue(actor, actor->join, NULL, &all, &group);
    for (unsigned i = 0; i < WORDS; i++)
        actor->holds[actor->joined][i] = actor->holds[actor->joined][i] * 3 + actor->holds[0][i];
}

/* The host lets go of a buffer that launches still use. */
static void replace_buffer(struct actor *actor)
{
    unsigned number = any(actor, BUFFERS);
    must(clReleaseMemObject(actor->buffers[number]), "clReleaseMemObject");
    actor->buffers[number] = new_buffer(&host, sizeof actor->holds[number]);
    write_all(actor, number);
    if (actor->mixed == number)
        set_argument(actor->mix, 0, sizeof(cl_mem), &actor->buffers[number]);
    if (number == 0)
        set_argument(actor->join, 0, sizeof(cl_mem), &actor->buffers[number]);
    if (actor->joined == number)
        set_argument(actor->join, 1, sizeof(cl_mem), &actor->buffers[number]);
}

static void replace_kernels(struct actor *actor)
{
    must(clReleaseKernel(actor->mix), "clReleaseKernel");
    must(clReleaseKernel(actor->join), "clReleaseKernel");
    new_kernels(actor);
}

/* Another queue goes on where this one is, and the host lets go of this one. */
static void replace_queue(struct actor *actor)
{
    cl_command_queue next = new_queue(&host);
    cl_event here;
    must(clEnqueueMarkerWithWaitList(actor->queue, 0, NULL, &here), "clEnqueueMarkerWithWaitList");
    must(clFlush(actor->queue), "clFlush");
    must(clEnqueueBarrierWithWaitList(next, 1, &here, NULL), "clEnqueueBarrierWithWaitList");
    must(clReleaseEvent(here), "clReleaseEvent");
    must(clReleaseCommandQueue(actor->queue), "clReleaseCommandQueue");
    actor->queue = next;
}

/* One kernel in two queues: each launch has the arguments that were set for it. */
static void use_two_queues(struct actor *actor)
{
    size_t all = WORDS;
    cl_command_queue queues[] = {actor->queue, new_queue(&host)};
    must(clFinish(actor->queue), "clFinish");
    for (unsigned many = any(actor, 60); many > 0; many--) {
        unsigned which = any(actor, 2), number = 2 + which;
        actor->b = any(actor, 100);
        set_argument(actor->mix, 0, sizeof(cl_mem), &actor->buffers[number]);
        set_argument(actor->mix, 2, sizeof actor->b, &actor->b);
        must(clEnqueueNDRangeKernel(queues[which], actor->mix, 1, NULL, &all, NULL, 0, NULL, NULL),
             "clEnqueueNDRangeKernel");
        actor->mixed = number;
        for (unsigned i = 0; i < WORDS; i++)
            actor->holds[number][i] = actor->holds[number][i] * actor->a + actor->b;
    }
    must(clFinish(queues[0]), "clFinish");
    must(clFinish(queues[1]), "clFinish");
    must(clReleaseCommandQueue(queues[1]), "clReleaseCommandQueue");
    set_argument(actor->mix, 0, sizeof(cl_mem), &actor->buffers[actor->mixed]);
}

static void call_something_else(struct actor *actor)
{
    switch (any(actor, 11)) {
    case 0:
        must(clFinish(actor->queue), "clFinish");
        break;
    case 1:
        must(clFlush(actor->queue), "clFlush");
        break;
    case 2:
        write_all(actor, any(actor, BUFFERS));
        break;
    case 3:
        replace_buffer(actor);
        break;
    case 4:
        replace_kernels(actor);
        break;
    case 5:
        replace_queue(actor);
        break;
    case 6:
        must_be(clEnqueueNDRangeKernel(actor->queue, actor->mix, 4, NULL, NULL, NULL, 0, NULL,
                                       NULL) == CL_INVALID_WORK_DIMENSION,
                "four dimensions are refused");
        break;
    case 7:
        wait_for_last(actor);
        break;
    case 8:
        use_two_queues(actor);
        break;
    default:
        check(actor, any(actor, BUFFERS));
    }
}

static void *act(void *data)
{
    struct actor *actor = data;
    double end = seconds() + length;
    actor->queue = new_queue(&host);
    for (unsigned i = 0; i < BUFFERS; i++) {
        actor->buffers[i] = new_buffer(&host, sizeof actor->holds[i]);
        write_all(actor, i);
    }
    new_kernels(actor);
    while (seconds() < end) {
        for (unsigned many = any(actor, 1200); many > 0; many--, actor->launches++)
            if (any(actor, 4) == 0)
                launch_join(actor);
            else
                launch_mix(actor);
        for (unsigned many = any(actor, 6); many > 0; many--)
            call_something_else(actor);
    }
    wait_for_last(actor);
    for (unsigned i = 0; i < BUFFERS; i++) {
        check(actor, i);
        must(clReleaseMemObject(actor->buffers[i]), "clReleaseMemObject");
    }
    must(clReleaseKernel(actor->mix), "clReleaseKernel");
    must(clReleaseKernel(actor->join), "clReleaseKernel");
    must(clReleaseCommandQueue(actor->queue), "clReleaseCommandQueue");
    return NULL;
}

int main(int count, char **words)
{
    if (count > 1)
        length = atof(words[1]);
    unsigned threads = count > 2 ? (unsigned)atoi(words[2]) : THREADS;
    uint64_t seed = count > 3 ? strtoull(words[3], NULL, 0) : 1;
    struct actor *actors = calloc(threads, sizeof *actors);
    must_be(actors != NULL, "there is memory");
    start(&host, source);
    for (unsigned i = 0; i < threads; i++) {
        actors[i].state = seed * 1000 + i;
        must_be(pthread_create(&actors[i].thread, NULL, act, &actors[i]) == 0, "there are threads");
    }
    for (unsigned i = 0; i < threads; i++) {
        must_be(pthread_join(actors[i].thread, NULL) == 0, "threads end");
        printf("%lu launches\n", actors[i].launches);
    }
    free(actors);
    stop(&host);
    return 0;
}
