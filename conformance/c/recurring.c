/* SPDX-License-Identifier: Apache-2.0
 *
 * The same few kernels, of one program or of two, are launched again and again, mostly without
 * events, while arguments, buffers and ND-ranges change in between and other calls come at random.
 * Each launch works on what was set when it was enqueued, and all of a queue take effect in their
 * order. The host keeps the events of some, asks for them, and has others wait for them.
 *
 *     recurring [SECONDS [THREADS [SEED]]]
 *
 * Each thread has a queue, kernels and buffers of its own, and knows what its buffers hold. */
#include "host.h"

enum { BUFFERS = 6, WORDS = 64, THREADS = 2, PROGRAMS = 2, HELD = 12 };

/* What the kernels of a program do is what those of another do, but a board has to be programmed.
 */
static const char source[] =
    "kernel void blend%u(global uint *x, uint a, uint b) {\n"
    "    x[get_global_id(0)] = x[get_global_id(0)] * a + b;\n"
    "}\n"
    "kernel void gather%u(global const uint *from, global uint *to, local uint *seen) {\n"
    "    seen[get_local_id(0)] = from[get_global_id(0)];\n"
    "    to[get_global_id(0)] = to[get_global_id(0)] * 3 + seen[get_local_id(0)];\n"
    "}\n";

static struct host host;
static cl_program programs[PROGRAMS];
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
    cl_event held[HELD]; /* of some launches, or NULL */
    unsigned latest;     /* of them */
    unsigned often;      /* of 40 launches, those whose events are held */
    unsigned long launches;
};

static unsigned any(struct actor *actor, unsigned below)
{
    actor->state = actor->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(actor->state >> 33) % below;
}

static cl_kernel any_kernel(struct actor *actor, const char *name)
{
    char words[16];
    unsigned number = any(actor, PROGRAMS);
    snprintf(words, sizeof words, "%s%u", name, number);
    return kernel_in(programs[number], words);
}

static void new_kernels(struct actor *actor)
{
    actor->often = any(actor, 3) == 0 ? 30 : 1;
    actor->mix = any_kernel(actor, "blend");
    actor->join = any_kernel(actor, "gather");
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
    write_buffer(actor->queue, actor->buffers[number], sizeof actor->holds[number],
                 actor->holds[number]);
}

static void check(struct actor *actor, unsigned number)
{
    cl_uint found[WORDS];
    read_back(actor->queue, actor->buffers[number], sizeof found, found);
    must_be(memcmp(found, actor->holds[number], sizeof found) == 0,
            "a buffer holds what the launches have left in it");
}

/* An event that is held, often of a launch that was recorded with the next one; or NULL. */
static cl_event any_held(struct actor *actor)
{
    return actor->held[any(actor, HELD)];
}

static void hold(struct actor *actor, cl_event event)
{
    cl_event *place = &actor->held[actor->latest = any(actor, HELD)];
    if (*place != NULL)
        MUST(clReleaseEvent(*place));
    *place = event;
}

static void enqueue(struct actor *actor, cl_kernel kernel, const size_t *offset,
                    const size_t *global, const size_t *local)
{
    unsigned wish = any(actor, 40);
    cl_event event = NULL, before = NULL;
    if (any(actor, 4) == 0)
        before = any(actor, 4) == 0 ? any_held(actor) : actor->held[actor->latest];
    MUST(clEnqueueNDRangeKernel(actor->queue, kernel, 1, offset, global, local, before != NULL,
                                before != NULL ? &before : NULL,
                                wish < actor->often + 9 ? &event : NULL));
    if (wish < actor->often)
        hold(actor, event);
    else if (event != NULL)
        MUST(clReleaseEvent(event));
}

static void must_be_complete(cl_event event)
{
    cl_int status;
    cl_command_queue queue;
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    must_be(status == CL_COMPLETE, "a launch that was waited for is complete");
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL));
}

static void wait_for_held(struct actor *actor)
{
    cl_event all[HELD];
    cl_uint count = 0;
    for (unsigned i = 0; i < HELD; i++)
        if (actor->held[i] != NULL && any(actor, 2))
            all[count++] = actor->held[i];
    if (count == 0)
        return;
    MUST(clWaitForEvents(count, all));
    for (cl_uint i = 0; i < count; i++)
        must_be_complete(all[i]);
}

static void let_go_of_held(struct actor *actor)
{
    for (unsigned i = 0; i < HELD; i++) {
        if (actor->held[i] != NULL)
            MUST(clReleaseEvent(actor->held[i]));
        actor->held[i] = NULL;
    }
}

static void CL_CALLBACK count_end(cl_event event, cl_int status, void *data)
{
    (void)event;
    __atomic_fetch_add((int *)data, status == CL_COMPLETE ? 1 : 1000, __ATOMIC_SEQ_CST);
}

static void call_back_for_held(struct actor *actor)
{
    cl_event event = any_held(actor);
    int ended = 0;
    if (event == NULL)
        return;
    MUST(clRetainEvent(event));
    MUST(clSetEventCallback(event, CL_COMPLETE, count_end, &ended));
    MUST(clFlush(actor->queue));
    while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) == 0)
        usleep(100);
    must_be(ended == 1, "a callback comes once, when the launch has ended");
    MUST(clReleaseEvent(event));
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
    MUST(clReleaseMemObject(actor->buffers[number]));
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
    MUST(clReleaseKernel(actor->mix));
    MUST(clReleaseKernel(actor->join));
    new_kernels(actor);
}

/* Another queue goes on where this one is, and the host lets go of this one. */
static void replace_queue(struct actor *actor)
{
    cl_command_queue next = new_queue(&host);
    cl_event here, held = any_held(actor);
    MUST(clEnqueueMarkerWithWaitList(actor->queue, 0, NULL, &here));
    MUST(clFlush(actor->queue));
    cl_event both[] = {here, held};
    MUST(clEnqueueBarrierWithWaitList(next, held != NULL ? 2 : 1, both, NULL));
    MUST(clReleaseEvent(here));
    MUST(clReleaseCommandQueue(actor->queue));
    actor->queue = next;
}

/* One kernel in two queues: each launch has the arguments that were set for it. */
static void use_two_queues(struct actor *actor)
{
    cl_command_queue queues[] = {actor->queue, new_queue(&host)};
    MUST(clFinish(actor->queue));
    for (unsigned many = any(actor, 60); many > 0; many--) {
        unsigned which = any(actor, 2), number = 2 + which;
        actor->b = any(actor, 100);
        set_argument(actor->mix, 0, sizeof(cl_mem), &actor->buffers[number]);
        set_argument(actor->mix, 2, sizeof actor->b, &actor->b);
        launch(queues[which], actor->mix, WORDS, NULL);
        actor->mixed = number;
        for (unsigned i = 0; i < WORDS; i++)
            actor->holds[number][i] = actor->holds[number][i] * actor->a + actor->b;
    }
    MUST(clFinish(queues[0]));
    MUST(clFinish(queues[1]));
    MUST(clReleaseCommandQueue(queues[1]));
    set_argument(actor->mix, 0, sizeof(cl_mem), &actor->buffers[actor->mixed]);
}

static void call_something_else(struct actor *actor)
{
    switch (any(actor, 13)) {
    case 0:
        MUST(clFinish(actor->queue));
        break;
    case 1:
        MUST(clFlush(actor->queue));
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
        wait_for_held(actor);
        break;
    case 8:
        use_two_queues(actor);
        break;
    case 9:
        let_go_of_held(actor);
        break;
    case 10:
        call_back_for_held(actor);
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
        for (unsigned many = any(actor, any(actor, 2) ? 1200 : 20); many > 0;
             many--, actor->launches++)
            if (any(actor, 4) == 0)
                launch_join(actor);
            else
                launch_mix(actor);
        for (unsigned many = any(actor, 6); many > 0; many--)
            call_something_else(actor);
    }
    wait_for_held(actor);
    let_go_of_held(actor);
    for (unsigned i = 0; i < BUFFERS; i++) {
        check(actor, i);
        MUST(clReleaseMemObject(actor->buffers[i]));
    }
    MUST(clReleaseKernel(actor->mix));
    MUST(clReleaseKernel(actor->join));
    MUST(clReleaseCommandQueue(actor->queue));
    return NULL;
}

static cl_program recurring_program(unsigned number)
{
    char words[sizeof source + 40];
    snprintf(words, sizeof words, source, number, number);
    return new_program(&host, words, "");
}

int main(int count, char **words)
{
    if (count > 1)
        length = atof(words[1]);
    unsigned threads = count > 2 ? (unsigned)atoi(words[2]) : THREADS;
    uint64_t seed = count > 3 ? strtoull(words[3], NULL, 0) : 1;
    struct actor *actors = calloc(threads, sizeof *actors);
    must_be(actors != NULL, "there is memory");
    start(&host, "kernel void nothing(void) {}");
    for (unsigned i = 0; i < PROGRAMS; i++)
        programs[i] = recurring_program(i);
    for (unsigned i = 0; i < threads; i++) {
        actors[i].state = seed * 1000 + i;
        must_be(pthread_create(&actors[i].thread, NULL, act, &actors[i]) == 0, "there are threads");
    }
    for (unsigned i = 0; i < threads; i++) {
        must_be(pthread_join(actors[i].thread, NULL) == 0, "threads end");
        printf("%lu launches\n", actors[i].launches);
    }
    free(actors);
    for (unsigned i = 0; i < PROGRAMS; i++)
        MUST(clReleaseProgram(programs[i]));
    stop(&host);
    return 0;
}
