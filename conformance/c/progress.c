/* SPDX-License-Identifier: Apache-2.0
 *
 * What was flushed begins without further calls, also while a kernel of another queue runs that
 * ends only after it.
 *
 *     progress flushed | blocking | finish_other [queues]
 *
 * The kernel loops until the host has changed a word that it reads. flushed: by a transfer that is
 * not waited for; blocking: by one that is; finish_other: after the host has waited for a short
 * kernel in another queue. `queues` further queues each have a flushed transfer of their own. */
#include "host.h"

#define SOURCE                                                                                     \
    "kernel void until_told(volatile global int *word, global int *seen)\n"                        \
    "{\n"                                                                                          \
    "    while (atomic_add(word, 0) == 0) ;\n"                                                     \
    "    seen[0] = word[0];\n"                                                                     \
    "}\n"                                                                                          \
    "kernel void add(global int *data, int amount) { data[get_global_id(0)] += amount; }\n"

enum { MOST_QUEUES = 16 };

static void until_ended(cl_event event)
{
    while (status_of(event) > CL_COMPLETE)
        usleep(100);
}

static void write_word(cl_command_queue queue, cl_mem word, const cl_int *value, cl_bool blocking)
{
    MUST(clEnqueueWriteBuffer(queue, word, blocking, 0, sizeof *value, value, 0, NULL, NULL));
    MUST(clFlush(queue));
}

static void run_short_kernel(struct host *host)
{
    cl_mem buffer = new_buffer(host, 64);
    cl_command_queue queue = new_queue(host);
    cl_kernel add = new_kernel(host, "add");
    cl_int amount = 3, sum = 0;
    fill(queue, buffer, 0, 64);
    set_argument(add, 0, sizeof buffer, &buffer);
    set_argument(add, 1, sizeof amount, &amount);
    launch(queue, add, 1, NULL);
    MUST(clFinish(queue));
    read_back(queue, buffer, sizeof sum, &sum);
    must_be(sum == amount, "the short kernel has run");
    MUST(clReleaseKernel(add));
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseCommandQueue(queue));
}

int main(int count, char **arguments)
{
    struct host host;
    const char *how = count > 1 ? arguments[1] : "flushed";
    int queues = count > 2 ? atoi(arguments[2]) : 4;
    const cl_int no = 0, yes = 7;
    cl_int seen = 0;
    cl_event running, moved[MOST_QUEUES];
    cl_command_queue others[MOST_QUEUES];
    cl_mem buffers[MOST_QUEUES];
    must_be(queues <= MOST_QUEUES, "few queues");
    start(&host, SOURCE);
    cl_kernel kernel = new_kernel(&host, "until_told");
    cl_mem word = new_buffer(&host, 64), answer = new_buffer(&host, 64);
    cl_command_queue second = new_queue(&host);
    set_argument(kernel, 0, sizeof word, &word);
    set_argument(kernel, 1, sizeof answer, &answer);
    write_word(host.queue, word, &yes, CL_TRUE); /* once without having to wait: it is compiled */
    launch(host.queue, kernel, 1, NULL);
    MUST(clFinish(host.queue));
    run_short_kernel(&host);

    write_word(host.queue, word, &no, CL_TRUE);
    launch(host.queue, kernel, 1, &running);
    if (strcmp(how, "finish_other") != 0) {
        MUST(clFlush(host.queue));
        while (status_of(running) > CL_RUNNING)
            usleep(100);
    }
    for (int i = 0; i < queues; i++) {
        others[i] = new_queue(&host);
        buffers[i] = new_buffer(&host, 64);
        MUST(clEnqueueWriteBuffer(others[i], buffers[i], CL_FALSE, 0, sizeof yes, &yes, 0, NULL,
                                  &moved[i]));
        MUST(clFlush(others[i]));
    }
    for (int i = 0; i < queues; i++)
        until_ended(moved[i]);
    must_be(status_of(running) > CL_COMPLETE, "the kernel has not ended before it was told");
    if (strcmp(how, "finish_other") == 0)
        run_short_kernel(&host);
    write_word(second, word, &yes, strcmp(how, "blocking") == 0);
    MUST(clFinish(host.queue));
    read_back(host.queue, answer, sizeof seen, &seen);
    must_be(seen == yes, "the kernel saw what was written");
    printf("ended after it was told\n");
    return 0;
}
