/* SPDX-License-Identifier: Apache-2.0
 *
 * Eight host threads, each enqueuing 10,000 commands on a queue of its own, then all of them on one
 * shared queue. Most commands add 1; every 16th copies the counter away, so that the order can be
 * checked as well as the sum.
 *
 *     threads [COMMANDS] */
#include "host.h"

enum { THREADS = 8, EVERY = 16, WIDTH = 16 };

static const char *const source =
    "kernel void add_one(global int *counter) { counter[get_global_id(0)] += 1; }\n"
    "kernel void count(global int *total) { atomic_inc(total); }\n";

static struct host host;
static int commands = 10000;
static cl_command_queue shared_queue;
static cl_mem total;
static pthread_barrier_t start_line;

/* Enqueues the commands and checks what they did. */
static void work(cl_command_queue queue, const char *whose)
{
    size_t row = WIDTH * sizeof(cl_int);
    int copies = commands / EVERY;
    cl_kernel add_one = new_kernel(&host, "add_one"), counting = new_kernel(&host, "count");
    cl_mem counter = new_buffer(&host, row),
           history = new_buffer(&host, row * ((size_t)copies + 1));
    cl_int *back = calloc((size_t)copies + 1, row);
    must_be(back != NULL, "there is memory");
    fill(queue, counter, 0, row);
    set_argument(add_one, 0, sizeof counter, &counter);
    set_argument(counting, 0, sizeof total, &total);
    pthread_barrier_wait(&start_line);
    int added = 0;
    for (int i = 1; i <= commands; i++) {
        if (i % EVERY == 0) {
            size_t to = row * ((size_t)(i / EVERY) - 1);
            MUST(clEnqueueCopyBuffer(queue, counter, history, 0, to, row, 0, NULL, NULL));
        } else if (i % EVERY == 1) {
            launch(queue, counting, 1, NULL);
        } else {
            launch(queue, add_one, WIDTH, NULL);
            added++;
        }
    }
    read_back(queue, history, row * (size_t)copies, back);
    for (int i = 0; i < copies; i++)
        must_be(back[i * WIDTH] == (i + 1) * (EVERY - 2) &&
                    back[i * WIDTH + WIDTH - 1] == (i + 1) * (EVERY - 2),
                whose);
    read_back(queue, counter, row, back);
    must_be(back[0] == added && back[WIDTH - 1] == added, whose);
    free(back);
    MUST(clReleaseMemObject(counter));
    MUST(clReleaseMemObject(history));
    MUST(clReleaseKernel(add_one));
    MUST(clReleaseKernel(counting));
}

static void *thread(void *unused)
{
    cl_command_queue queue = new_queue(&host);
    work(queue, "commands of a thread's own queue run in order, each once");
    MUST(clReleaseCommandQueue(queue));
    work(shared_queue, "commands of the shared queue run in order, each once");
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    cl_int counted = 0;
    if (count > 1)
        commands = atoi(arguments[1]) / EVERY * EVERY;
    start(&host, source);
    shared_queue = host.queue;
    total = new_buffer(&host, sizeof(cl_int));
    fill(host.queue, total, 0, sizeof(cl_int));
    MUST(clFinish(host.queue));
    pthread_barrier_init(&start_line, NULL, THREADS);
    double began = seconds();
    for (int i = 0; i < THREADS; i++)
        must_be(pthread_create(&threads[i], NULL, thread, NULL) == 0, "threads can be made");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    double took = seconds() - began;
    read_back(host.queue, total, sizeof counted, &counted);
    int expected = 2 * THREADS * ((commands + EVERY - 1) / EVERY);
    if (counted != expected)
        fprintf(stderr, "counted %d of %d\n", counted, expected);
    must_be(counted == expected, "what all threads count together is complete");
    MUST(clReleaseMemObject(total));
    stop(&host);
    printf("right: %d commands in %.2f s\n", 2 * THREADS * commands, took);
    return 0;
}
