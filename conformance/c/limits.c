/* SPDX-License-Identifier: Apache-2.0
 *
 * Very many objects, commands and bytes: `limits CASE COUNT`. Each case is made and released twice.
 * Prints the seconds of a processor of both rounds, and the resident KiB before, with everything
 * made, and after each release. */
#include "host.h"

#include <malloc.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static long resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long total = 0, pages = 0;
    if (file == NULL || fscanf(file, "%ld %ld", &total, &pages) != 2)
        pages = 0;
    if (file != NULL)
        fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void *room(size_t count, size_t size)
{
    void *made = calloc(count, size);
    must_be(made != NULL, "there is memory");
    return made;
}

static long most;

static void all_made(void)
{
    long kibibytes = resident();
    if (kibibytes > most)
        most = kibibytes;
}

static void open_gate(cl_event event)
{
    MUST(clSetUserEventStatus(event, CL_COMPLETE));
    MUST(clReleaseEvent(event));
}

static cl_command_queue unordered(struct host *host)
{
    return new_queue_with(host, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

/* Writes that nobody waits for, behind one that cannot begin if they are `held`. */
static void commands(struct host *host, size_t count, bool held)
{
    static int number;
    cl_event first = held ? user_event(host) : NULL;
    cl_mem buffer = new_buffer(host, 4096);
    for (size_t i = 0; i < count; i++)
        MUST(clEnqueueWriteBuffer(host->queue, buffer, CL_FALSE, 0, sizeof number, &number,
                                  held && i == 0, held && i == 0 ? &first : NULL, NULL));
    all_made();
    if (held)
        open_gate(first);
    MUST(clFinish(host->queue));
    MUST(clReleaseMemObject(buffer));
}

static void unwaited(struct host *host, size_t count)
{
    commands(host, count, false);
}

static void held(struct host *host, size_t count)
{
    commands(host, count, true);
}

static void chain(struct host *host, size_t count)
{
    cl_command_queue queue = unordered(host);
    cl_event *events = room(count + 1, sizeof *events);
    cl_event first = events[0] = user_event(host);
    for (size_t i = 0; i < count; i++)
        MUST(clEnqueueMarkerWithWaitList(queue, 1, &events[i], &events[i + 1]));
    all_made();
    MUST(clSetUserEventStatus(first, CL_COMPLETE));
    MUST(clWaitForEvents(1, &events[count]));
    for (size_t i = 0; i <= count; i++)
        MUST(clReleaseEvent(events[i]));
    MUST(clReleaseCommandQueue(queue));
    free(events);
}

static void wait_list(struct host *host, size_t count)
{
    cl_command_queue queue = unordered(host);
    cl_event *events = room(count, sizeof *events), last;
    cl_event first = user_event(host);
    for (size_t i = 0; i < count; i++)
        MUST(clEnqueueMarkerWithWaitList(queue, 1, &first, &events[i]));
    MUST(clEnqueueMarkerWithWaitList(queue, (cl_uint)count, events, &last));
    all_made();
    open_gate(first);
    MUST(clWaitForEvents((cl_uint)count, events));
    MUST(clWaitForEvents(1, &last));
    for (size_t i = 0; i < count; i++)
        MUST(clReleaseEvent(events[i]));
    MUST(clReleaseEvent(last));
    MUST(clReleaseCommandQueue(queue));
    free(events);
}

/* Makes so many objects, and releases them. `make` is called with `arguments`, which name a status.
 */
#define OBJECTS(name, type, make, arguments, release)                                              \
    static void name(struct host *host, size_t count)                                              \
    {                                                                                              \
        type *made = room(count, sizeof *made);                                                    \
        cl_int status;                                                                             \
        for (size_t i = 0; i < count; i++) {                                                       \
            made[i] = make arguments;                                                              \
            must(status, #make);                                                                   \
        }                                                                                          \
        all_made();                                                                                \
        for (size_t i = 0; i < count; i++)                                                         \
            must(release(made[i]), #release);                                                      \
        free(made);                                                                                \
    }

static const char *SMALL = "kernel void k(global int *x) { x[0] = 1; }";

OBJECTS(kernels, cl_kernel, clCreateKernel, (host->program, "k", &status), clReleaseKernel)
OBJECTS(programs, cl_program, clCreateProgramWithSource, (host->context, 1, &SMALL, NULL, &status),
        clReleaseProgram)
OBJECTS(queues, cl_command_queue, clCreateCommandQueueWithProperties,
        (host->context, host->device, NULL, &status), clReleaseCommandQueue)
OBJECTS(contexts, cl_context, clCreateContext, (NULL, 1, &host->device, NULL, NULL, &status),
        clReleaseContext)
OBJECTS(buffers, cl_mem, clCreateBuffer, (host->context, 0, 4096, NULL, &status),
        clReleaseMemObject)

static char *program_text(size_t bytes, const char *line, const char *end)
{
    size_t length = strlen(line), lines = bytes / length + 1;
    char *text = room(lines * length + strlen(end) + 1, 1);
    for (size_t i = 0; i < lines; i++)
        memcpy(text + i * length, line, length);
    memcpy(text + lines * length, end, strlen(end) + 1);
    return text;
}

static cl_program built(struct host *host, const char *text, cl_int *result)
{
    cl_program made = new_source(host, text);
    *result = clBuildProgram(made, 1, &host->device, "", NULL, NULL);
    return made;
}

/* So many bytes of a source whose functions nobody calls. */
static void source(struct host *host, size_t bytes)
{
    static int number;
    char line[80], end[80];
    cl_int status;
    snprintf(line, sizeof line, "/* %d: a line that says nothing of use to anybody at all */ ;\n",
             getpid() + number++);
    snprintf(end, sizeof end, "kernel void k(global int *x) { x[0] = %d; }", number);
    char *text = program_text(bytes, line, end);
    cl_program made = built(host, text, &status);
    must(status, "clBuildProgram");
    all_made();
    MUST(clReleaseProgram(made));
    free(text);
}

/* A log of so many bytes: a warning for each line. */
static void build_log(struct host *host, size_t bytes)
{
    char *text =
        program_text(bytes, "#warning this line of the program has a warning of its own\n", SMALL);
    cl_int status;
    size_t size = 0;
    cl_program made = built(host, text, &status);
    must(status, "clBuildProgram");
    MUST(clGetProgramBuildInfo(made, host->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size));
    char *log = room(size, 1);
    MUST(clGetProgramBuildInfo(made, host->device, CL_PROGRAM_BUILD_LOG, size, log, NULL));
    all_made();
    free(log);
    MUST(clReleaseProgram(made));
    free(text);
}

static const struct {
    const char *name;
    void (*run)(struct host *, size_t);
} CASES[] = {
    {"unwaited", unwaited}, {"held", held},         {"chain", chain},   {"wait_list", wait_list},
    {"kernels", kernels},   {"programs", programs}, {"queues", queues}, {"contexts", contexts},
    {"buffers", buffers},   {"source", source},     {"log", build_log},
};

static void run(struct host *host, void (*work)(struct host *, size_t), size_t count)
{
    long before = resident(), after[2];
    double seconds[2];
    for (int round = 0; round < 2; round++) {
        double begin = now();
        work(host, count);
        seconds[round] = now() - begin;
        malloc_trim(0);
        after[round] = resident();
    }
    printf("%.3f %.3f %ld %ld %ld %ld\n", seconds[0], seconds[1], before, most, after[0], after[1]);
}

int main(int count, char **words)
{
    struct host host;
    must_be(count == 3, "usage: limits CASE COUNT");
    start(&host, SMALL);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        if (strcmp(CASES[i].name, words[1]) == 0) {
            run(&host, CASES[i].run, strtoul(words[2], NULL, 10));
            return 0;
        }
    must_be(false, "there is such a case");
}
