/* SPDX-License-Identifier: Apache-2.0
 *
 * A host whose kernel misbehaves: misbehaving SOURCE alone|two
 * Runs `bad` of the source, says how that ended, and what it was told; then whether a good kernel
 * is right on a buffer that the bad one did not have. With `two`, another thread launches the good
 * kernel all the time on a queue and a buffer of its own. */
#include "host.h"

#include <stdatomic.h>

#define COUNT 1024
static const char good_source[] =
    "kernel void good(global int *data) { data[get_global_id(0)] += 1; }";

struct board {
    struct host host;
    cl_kernel kernel;
    cl_mem buffer;
};

static atomic_int over;

static void CL_CALLBACK told(const char *words, const void *info, size_t size, void *data)
{
    (void)info, (void)size, (void)data;
    printf("told %s\n", words);
    fflush(stdout);
}

static cl_int build(struct host *host, const char *source)
{
    host->program = new_source(host, source);
    cl_int status = clBuildProgram(host->program, 1, &host->device, "", NULL, NULL);
    if (status != CL_SUCCESS) {
        static char log[65536];
        clGetProgramBuildInfo(host->program, host->device, CL_PROGRAM_BUILD_LOG, sizeof log, log,
                              NULL);
        log[strcspn(log, "\n")] = '\0';
        printf("log %s\n", log);
    }
    return status;
}

static void prepare(struct board *board, const char *kernel)
{
    cl_int data[COUNT];
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    board->kernel = new_kernel(&board->host, kernel);
    board->host.queue = new_queue(&board->host);
    board->buffer = buffer_with(&board->host, sizeof data, data);
    set_argument(board->kernel, 0, sizeof board->buffer, &board->buffer);
}

/* The status that the launch ended with. */
static cl_int run(const struct board *board, size_t items)
{
    cl_event event;
    launch(board->host.queue, board->kernel, items, &event);
    clFinish(board->host.queue);
    cl_int status = status_of(event);
    clReleaseEvent(event);
    return status;
}

static int is_right(const struct board *board, int increments)
{
    cl_int data[COUNT];
    read_back(board->host.queue, board->buffer, sizeof data, data);
    for (int i = 0; i < COUNT; i++)
        if (data[i] != i + increments)
            return 0;
    return 1;
}

/* Memory of the host alone. A variable of main() would not do: a process that reads below its own
 * stack makes that larger, and both stacks may be near each other. */
static cl_int own;

/* Launches until a launch fails or it is told to stop; all before have to be right. */
static void *launch_always(void *data)
{
    struct board *board = data;
    int done = 0, failed = 0;
    while (!atomic_load(&over) && !failed) {
        failed = run(board, COUNT) != CL_COMPLETE;
        done += !failed;
    }
    if (!failed && !is_right(board, done))
        printf("wrong after %d\n", done);
    return NULL;
}

static char *contents(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    text[length] = '\0';
    return text;
}

int main(int count, char **arguments)
{
    struct board bad = {0}, good, other;
    cl_int status, lowest;
    pthread_t thread;
    int two = count > 2 && strcmp(arguments[2], "two") == 0;
    find_device(&bad.host);
    bad.host.context = clCreateContext(NULL, 1, &bad.host.device, told, NULL, &status);
    must(status, "clCreateContext");
    good = bad;
    must(build(&good.host, good_source), "clBuildProgram");
    other = good;
    prepare(&good, "good");
    prepare(&other, "good");
    status = run(&good, COUNT);
    printf("first %d %d\n", status, is_right(&good, 1));
    lowest = build(&bad.host, contents(arguments[1]));
    if (lowest == CL_SUCCESS) {
        prepare(&bad, "bad");
        cl_ulong secret = (cl_ulong)(size_t)&own;
        clSetKernelArg(bad.kernel, 1, sizeof secret, &secret);
        if (two)
            pthread_create(&thread, NULL, launch_always, &other);
        lowest = run(&bad, 1);
        atomic_store(&over, 1);
        if (two)
            pthread_join(thread, NULL);
    }
    printf("\nstatus %d\n", lowest);
    int right = is_right(&good, 1);
    status = run(&good, COUNT);
    printf("next %d %d\n", status, right && is_right(&good, 2));
    printf("alive\n");
    return 0;
}
