/* SPDX-License-Identifier: Apache-2.0
 *
 * Two kernels that were short each time when their host waited for both. Then it waits for the
 * first one's event only, and does what the second one waits for afterwards. */
#include "host.h"

/* words: what the second kernel waits for, and how often both have run */
static const char *source = "kernel void first(volatile global int *words) { words[1]++; }\n"
                            "kernel void second(volatile global int *words)\n"
                            "{\n"
                            "    while (atomic_add(words, 0) == 0) ;\n"
                            "    words[2]++;\n"
                            "}\n";

enum { SHORT = 50, TIMES = 3, WORDS = 3 };

static struct host host;
static cl_mem words;

static void tell(cl_command_queue queue, cl_int told)
{
    write_buffer(queue, words, sizeof told, &told);
}

int main(void)
{
    const cl_int zeros[WORDS] = {0};
    cl_int last[WORDS];
    start(&host, source);
    words = new_buffer(&host, sizeof zeros);
    cl_command_queue other = new_queue(&host);
    cl_kernel first = new_kernel(&host, "first"), second = new_kernel(&host, "second");
    set_argument(first, 0, sizeof words, &words);
    set_argument(second, 0, sizeof words, &words);
    write_buffer(host.queue, words, sizeof zeros, zeros);
    for (int time = 0; time < TIMES; time++) {
        cl_event event;
        for (int i = 0; i < SHORT; i++) {
            tell(host.queue, 1);
            launch(host.queue, first, 1, NULL);
            launch(host.queue, second, 1, NULL);
            MUST(clFinish(host.queue));
        }
        tell(host.queue, 0);
        for (int i = 0; i < 2; i++) { /* waited for at once, as before */
            launch(host.queue, first, 1, NULL);
            MUST(clFinish(host.queue));
        }
        launch(host.queue, first, 1, &event);
        launch(host.queue, second, 1, NULL);
        MUST(clWaitForEvents(1, &event));
        tell(other, 1);
        MUST(clFinish(host.queue));
        MUST(clReleaseEvent(event));
    }
    read_back(host.queue, words, sizeof last, last);
    must_be(last[1] == TIMES * (SHORT + 3), "the first kernel has run each time");
    must_be(last[2] == TIMES * (SHORT + 1), "the second kernel has run each time");
    MUST(clReleaseKernel(first));
    MUST(clReleaseKernel(second));
    MUST(clReleaseMemObject(words));
    MUST(clReleaseCommandQueue(other));
    stop(&host);
    return 0;
}
