/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches of two programs in turn, each waited for, while one thread reads and one writes without
 * a pause: how long they take, and how many transfers end meanwhile. A board is programmed for each
 * of these launches, for which it has to come to rest.
 *
 *     turns [LAUNCHES [MOST]]
 *
 * It is wrong if more than MOST transfers end in the mean while a launch waits. */
#include "host.h"
#include <stdatomic.h>

enum { SIZE = 1 << 20, AHEAD = 8, LAUNCHES = 100, MOST = 100, WARM = 10 };

static struct host host;
static atomic_bool over;
static atomic_long transfers;

static cl_event begin_transfer(cl_command_queue queue, cl_mem buffer, char *data, bool writes)
{
    cl_event event;
    if (writes)
        MUST(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, SIZE, data, 0, NULL, &event));
    else
        MUST(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, SIZE, data, 0, NULL, &event));
    MUST(clFlush(queue));
    return event;
}

static void end_transfer(cl_event event)
{
    MUST(clWaitForEvents(1, &event));
    MUST(clReleaseEvent(event));
    transfers++;
}

/* There is always a next one before the last one ends. */
static void *transfer(void *writes)
{
    cl_command_queue queue = new_queue(&host);
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_event events[AHEAD] = {NULL};
    char *data = calloc(1, SIZE);
    must_be(data != NULL, "there is memory");
    fill(queue, buffer, 0, SIZE);
    for (unsigned i = 0; !over; i++) {
        if (i >= AHEAD)
            end_transfer(events[i % AHEAD]);
        events[i % AHEAD] = begin_transfer(queue, buffer, data, writes != NULL);
    }
    MUST(clFinish(queue));
    for (int i = 0; i < AHEAD; i++)
        if (events[i] != NULL)
            MUST(clReleaseEvent(events[i]));
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseCommandQueue(queue));
    free(data);
    return NULL;
}

static cl_kernel kernel_of(const char *source, cl_mem buffer)
{
    cl_program program = new_program(&host, source, "");
    cl_kernel kernel = kernel_in(program, "k");
    MUST(clReleaseProgram(program));
    set_argument(kernel, 0, sizeof buffer, &buffer);
    return kernel;
}

int main(int count, char **words)
{
    long launches = count > 1 ? atol(words[1]) : LAUNCHES, most = count > 2 ? atol(words[2]) : MOST;
    pthread_t reader, writer;
    double sum = 0, worst = 0;
    long passed = 0;
    cl_int value = 0;
    start(&host, "kernel void unused(void) {}");
    cl_mem buffer = new_buffer(&host, sizeof value);
    write_buffer(host.queue, buffer, sizeof value, &value);
    cl_kernel kernels[] = {kernel_of("kernel void k(global int *x) { x[0] += 1; }", buffer),
                           kernel_of("kernel void k(global int *x) { x[0] += 2; }", buffer)};
    pthread_create(&reader, NULL, transfer, NULL);
    pthread_create(&writer, NULL, transfer, &host);
    while (transfers < WARM)
        usleep(1000);
    for (long i = -WARM; i < launches; i++) {
        double begin = seconds();
        long before = transfers;
        launch(host.queue, kernels[i & 1], 1, NULL);
        MUST(clFinish(host.queue));
        if (i < 0) /* kernels are compiled at their first launch */
            continue;
        double took = seconds() - begin;
        passed += transfers - before;
        sum += took;
        worst = took > worst ? took : worst;
    }
    over = true;
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
    read_back(host.queue, buffer, sizeof value, &value);
    must_be(value == (launches + WARM) / 2 * 3, "every launch has run once");
    printf("%ld launches: mean %.2f ms, worst %.2f ms, %.1f transfers beside each\n", launches,
           1e3 * sum / (double)launches, 1e3 * worst, (double)passed / (double)launches);
    must_be(passed <= most * launches, "launches are not starved");
    MUST(clReleaseKernel(kernels[0]));
    MUST(clReleaseKernel(kernels[1]));
    MUST(clReleaseMemObject(buffer));
    stop(&host);
    return 0;
}
