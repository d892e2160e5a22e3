/* SPDX-License-Identifier: Apache-2.0
 *
 * Many threads of one host on shared queues for as long as one likes, every byte checked.
 *
 *     soak [seconds] [seed] [threads] [MiB that memory may grow]
 *
 * Each thread writes, runs a kernel of one of two programs in turn, and reads, in queues that all
 * threads share; it waits by one of five ways: a blocking read, clFinish, clWaitForEvents, polling
 * after clFlush, and a callback after clFlush that itself enqueues. Meanwhile short-lived threads
 * come and go with a queue each, and signals interrupt everybody. Prints resident memory ten times;
 * after the first tenth it may not grow by more than the last argument says. The same seed chooses
 * the same work for each thread. */
#include "host.h"

#include <signal.h>
#include <stdatomic.h>

enum {
    QUEUES = 3,
    MOST_THREADS = 64,
    COUNT = 256,
    BYTES = COUNT * 4,
    LEAST = 20,
    PATIENCE_S = 3600
};

static const char *sources[] = {
    "kernel void change(global int *x, int y) { x[get_global_id(0)] += y; }",
    "kernel void change(global int *x, int y) { x[get_global_id(0)] -= 3 * y; }",
};
static const int factors[] = {1, -3};

static struct host host;
static cl_program programs[2];
static cl_command_queue queues[QUEUES];
static atomic_int stop_all, signals_seen, short_lived;
static atomic_long transactions;

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

struct callback {
    cl_command_queue queue;
    cl_mem from;
    cl_mem to;
    atomic_int done;
};

/* Not blocking, so a callback may do it (OpenCL 3.0, 5.11). */
static void CL_CALLBACK copy_further(cl_event event, cl_int status, void *data)
{
    struct callback *callback = data;
    (void)event;
    must(status, "event of a callback");
    MUST(clEnqueueCopyBuffer(callback->queue, callback->from, callback->to, 0, 0, BYTES, 0, NULL,
                             NULL));
    must(clFlush(callback->queue), "clFlush in a callback");
    atomic_store(&callback->done, 1);
}

static void poll_until_ended(cl_event event)
{
    cl_int status = CL_QUEUED;
    while (status > CL_COMPLETE)
        MUST(
            clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    must(status, "event");
}

static void wait_for_callback(struct callback *callback)
{
    while (!atomic_load(&callback->done))
        usleep(50);
}

struct worker {
    pthread_t thread;
    unsigned seed;
    cl_mem buffers[2];
    cl_kernel kernels[2];
};

static void prepare(struct worker *worker)
{
    for (int i = 0; i < 2; i++) {
        worker->buffers[i] = new_buffer(&host, BYTES);
        worker->kernels[i] = kernel_in(programs[i], "change");
    }
}

static void give_back(struct worker *worker)
{
    for (int i = 0; i < 2; i++) {
        MUST(clReleaseMemObject(worker->buffers[i]));
        MUST(clReleaseKernel(worker->kernels[i]));
    }
}

static void transact(struct worker *worker)
{
    unsigned *seed = &worker->seed;
    cl_command_queue queue = queues[next_random(seed) % QUEUES];
    int program = (int)(next_random(seed) % 2), amount = (int)(next_random(seed) % 1000);
    int begin = (int)next_random(seed), how = (int)(next_random(seed) % 5);
    cl_int in[COUNT], out[COUNT];
    cl_event ended;
    cl_mem from = worker->buffers[0];
    struct callback callback = {queue, worker->buffers[0], worker->buffers[1], 0};
    for (int i = 0; i < COUNT; i++)
        in[i] = begin + i;
    MUST(clEnqueueWriteBuffer(queue, from, next_random(seed) % 2, 0, BYTES, in, 0, NULL, NULL));
    set_argument(worker->kernels[program], 0, sizeof from, &from);
    set_argument(worker->kernels[program], 1, sizeof amount, &amount);
    launch(queue, worker->kernels[program], COUNT, &ended);
    if (how == 1)
        MUST(clFinish(queue));
    if (how == 2)
        MUST(clWaitForEvents(1, &ended));
    if (how == 3) {
        MUST(clFlush(queue));
        poll_until_ended(ended);
    }
    if (how == 4) {
        MUST(clSetEventCallback(ended, CL_COMPLETE, copy_further, &callback));
        MUST(clFlush(queue));
        wait_for_callback(&callback);
        from = worker->buffers[1];
    }
    MUST(clReleaseEvent(ended));
    read_back(queue, from, BYTES, out);
    for (int i = 0; i < COUNT; i++)
        must_be(out[i] == in[i] + factors[program] * amount, "what was read is what was computed");
    atomic_fetch_add(&transactions, 1);
}

static void *work(void *data)
{
    struct worker *worker = data;
    prepare(worker);
    while (!atomic_load(&stop_all))
        transact(worker);
    give_back(worker);
    return NULL;
}

static void *live_shortly(void *data)
{
    prepare(data);
    transact(data);
    give_back(data);
    atomic_fetch_add(&short_lived, 1);
    return NULL;
}

static void *be_short_lived(void *data)
{
    unsigned seed = *(unsigned *)data;
    while (!atomic_load(&stop_all)) {
        struct worker worker = {.seed = next_random(&seed)};
        must_be(pthread_create(&worker.thread, NULL, live_shortly, &worker) == 0, "pthread_create");
        pthread_join(worker.thread, NULL);
    }
    return NULL;
}

static void interrupted(int number)
{
    (void)number;
    atomic_fetch_add(&signals_seen, 1);
}

static void interrupt(struct worker *workers, int count, unsigned *seed)
{
    pthread_kill(workers[next_random(seed) % (unsigned)count].thread, SIGUSR1);
    kill(getpid(), SIGUSR2);
    usleep(next_random(seed) % 500);
}

static double resident_mib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    must_be(file != NULL && fscanf(file, "%ld %ld", &pages, &resident) == 2, "/proc/self/statm");
    fclose(file);
    return (double)resident * 4096 / (1 << 20);
}

static void build_programs(void)
{
    for (int i = 0; i < 2; i++) {
        programs[i] = new_program(&host, sources[i], "");
    }
}

int main(int count, char **arguments)
{
    double length = count > 1 ? atof(arguments[1]) : 5;
    unsigned seed = count > 2 ? (unsigned)atol(arguments[2]) : 1;
    int threads = count > 3 ? atoi(arguments[3]) : 6;
    double may_grow = count > 4 ? atof(arguments[4]) : 16;
    struct worker workers[MOST_THREADS] = {0};
    struct sigaction action = {.sa_handler = interrupted, .sa_flags = SA_RESTART};
    double early = 0, now = 0;
    pthread_t spawner;
    must_be(threads <= MOST_THREADS, "not that many threads");
    alarm((unsigned)length + PATIENCE_S); /* a hang is a failure of `make soak` */
    find_device(&host);
    host.context = new_context(host.device);
    build_programs();
    for (int i = 0; i < QUEUES; i++)
        queues[i] = new_queue(&host);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    unsigned spawned = seed + 1000;
    for (int i = 0; i < threads; i++) {
        workers[i].seed = seed + (unsigned)i;
        must_be(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0, "pthread_create");
    }
    must_be(pthread_create(&spawner, NULL, be_short_lived, &spawned) == 0, "pthread_create");
    for (int tenth = 1; tenth <= 10; tenth++) {
        double until = seconds() + length / 10;
        while (seconds() < until || atomic_load(&transactions) < tenth * LEAST ||
               atomic_load(&short_lived) < tenth)
            interrupt(workers, threads, &seed);
        now = resident_mib();
        early = tenth == 1 ? now : early;
        printf("%3d %%: %ld transactions, %d short-lived threads, %d signals, %.1f MiB resident\n",
               10 * tenth, atomic_load(&transactions), atomic_load(&short_lived),
               atomic_load(&signals_seen), now);
        fflush(stdout);
    }
    atomic_store(&stop_all, 1);
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_join(spawner, NULL);
    must_be(now - early <= may_grow, "memory is flat");
    must_be(atomic_load(&transactions) > 0 && atomic_load(&short_lived) > 0, "something was done");
    return 0;
}
