/* SPDX-License-Identifier: Apache-2.0
 *
 * main() flushes a launch and a read, both behind a kernel that is launched for the first time, and
 * returns. A handler of exit() that was registered before the driver's finds what was read. With
 * the argument "thread", it joins a thread that waits for the read, as handlers of runtimes do.
 *
 *     return_with_flushed_work [thread] */
#include "host.h"

enum { COUNT = 64 };

static cl_uint found[COUNT];
static cl_event read_event;
static pthread_t thread;
static bool has_thread;

static void *wait_for_read(void *unused)
{
    (void)unused;
    must(clWaitForEvents(1, &read_event), "clWaitForEvents");
    return NULL;
}

static void look(void)
{
    if (has_thread)
        pthread_join(thread, NULL);
    for (int i = 0; i < COUNT; i++)
        if (found[i] != 14) {
            fprintf(stderr, "not so: word %d was read\n", i);
            _exit(1);
        }
    printf("all words were read\n");
    fflush(stdout);
}

int main(int count, char **arguments)
{
    struct host host;
    const cl_uint rounds = 1000000, amount = 7;
    (void)arguments;
    atexit(look);
    start(&host, SPIN_SOURCE);
    cl_kernel add = new_kernel(&host, "add"), spin = new_kernel(&host, "spin");
    cl_mem words = new_buffer(&host, sizeof found), others = new_buffer(&host, sizeof found);
    set_argument(add, 0, sizeof words, &words);
    set_argument(add, 1, sizeof amount, &amount);
    set_argument(spin, 0, sizeof others, &others);
    set_argument(spin, 1, sizeof rounds, &rounds);
    fill(host.queue, words, 0, sizeof found);
    launch(host.queue, add, COUNT, NULL);
    read_back(host.queue, words, sizeof found, found);
    memset(found, 0, sizeof found);

    launch(host.queue, spin, COUNT, NULL);
    launch(host.queue, add, COUNT, NULL);
    MUST(clEnqueueReadBuffer(host.queue, words, CL_FALSE, 0, sizeof found, found, 0, NULL,
                             &read_event));
    must(clFlush(host.queue), "clFlush");
    has_thread = count > 1;
    if (has_thread)
        must_be(pthread_create(&thread, NULL, wait_for_read, NULL) == 0, "pthread_create");
    return 0;
}
