/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that was short each time when its host waited for it, then runs until another thread
 * has written a word that it reads. That thread writes when the event says that the kernel runs.
 *
 *     suddenly_long [times] */
#include "host.h"

#include <stdatomic.h>

/* words: launches that are left until a long one, what that waits for, and what it has seen */
static const char *source = "kernel void run(volatile global int *words)\n"
                            "{\n"
                            "    if (atomic_dec(words) != 1) return;\n"
                            "    while (atomic_add(words + 1, 0) == 0) ;\n"
                            "    words[2] = words[1];\n"
                            "}\n";

enum { SHORT = 50, WORDS = 16, TOLD = 7 };

static struct host host;
static cl_mem words;
static _Atomic(cl_event) of_long; /* for the thread that tells */

static void *tell(void *nothing)
{
    cl_command_queue queue = new_queue(&host);
    const cl_int told = TOLD;
    cl_event event;
    while ((event = atomic_exchange(&of_long, NULL)) == NULL)
        usleep(100);
    usleep(20000); /* or whoever asks first would see to the launch, not clFinish */
    while (status_of(event) > CL_RUNNING)
        usleep(100);
    must_be(status_of(event) == CL_RUNNING, "the kernel has not ended before it was told");
    MUST(clEnqueueWriteBuffer(queue, words, CL_FALSE, sizeof told, sizeof told, &told, 0, NULL,
                              NULL));
    MUST(clFinish(queue));
    MUST(clWaitForEvents(1, &event));
    must_be(status_of(event) == CL_COMPLETE, "the kernel has ended when it was waited for");
    MUST(clReleaseEvent(event));
    MUST(clReleaseCommandQueue(queue));
    return nothing;
}

static void run_until_told(cl_kernel kernel)
{
    const cl_int first[] = {SHORT + 1, 0, 0};
    cl_int last[3];
    pthread_t teller;
    write_buffer(host.queue, words, sizeof first, first);
    must_be(pthread_create(&teller, NULL, tell, NULL) == 0, "a thread can be made");
    for (int i = 0; i <= SHORT; i++) {
        cl_event event;
        launch(host.queue, kernel, 1, &event);
        if (i == SHORT) {
            MUST(clRetainEvent(event));
            atomic_store(&of_long, event);
        }
        MUST(clFinish(host.queue));
        must_be(status_of(event) == CL_COMPLETE, "the launch has ended with the queue");
        MUST(clReleaseEvent(event));
    }
    pthread_join(teller, NULL);
    read_back(host.queue, words, sizeof last, last);
    must_be(last[0] == 0, "each launch has run once");
    must_be(last[2] == TOLD, "the kernel saw what was written");
}

int main(int count, char **arguments)
{
    start(&host, source);
    words = new_buffer(&host, WORDS * sizeof(cl_int));
    cl_kernel kernel = new_kernel(&host, "run");
    set_argument(kernel, 0, sizeof words, &words);
    for (int i = count > 1 ? atoi(arguments[1]) : 3; i > 0; i--)
        run_until_told(kernel);
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseMemObject(words));
    stop(&host);
    return 0;
}
