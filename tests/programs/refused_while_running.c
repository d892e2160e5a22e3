/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of two launches, the last of which runs until another thread has written a word that it
 * reads, but for its second launch, which the engine refuses (refusing_engine.c) once there is the
 * file that is the argument. The thread writes when the events of both say that they run. */
#include "host.h"

#include <fcntl.h>
#include <stdatomic.h>

static const char *source = "kernel void run(volatile global int *words)\n"
                            "{\n"
                            "    if (atomic_dec(words) != 1) return;\n"
                            "    while (atomic_add(words + 1, 0) == 0) ;\n"
                            "}\n";

enum { ROWS = 50, LENGTH = 2 };

static struct host host;
static cl_mem words;
static cl_event events[LENGTH];
static atomic_int is_last;

static void *tell(void *nothing)
{
    cl_command_queue queue = new_queue(&host);
    const cl_int told = 1;
    while (!atomic_load(&is_last))
        usleep(100);
    usleep(20000); /* or whoever asks first would see to the launches, not clFinish */
    for (int i = 0; i < LENGTH; i++)
        while (status_of(events[i]) > CL_RUNNING)
            usleep(100);
    must(
        clEnqueueWriteBuffer(queue, words, CL_TRUE, sizeof told, sizeof told, &told, 0, NULL, NULL),
        "clEnqueueWriteBuffer");
    must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
    return nothing;
}

int main(int count, char **arguments)
{
    const cl_int first[] = {LENGTH * ROWS + 1, 0};
    pthread_t teller;
    if (count < 2)
        return 2;
    start(&host, source);
    words = new_buffer(&host, 64);
    cl_kernel kernel = new_kernel(&host, "run");
    set_argument(kernel, 0, sizeof words, &words);
    must(clEnqueueWriteBuffer(host.queue, words, CL_TRUE, 0, sizeof first, first, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
    must_be(pthread_create(&teller, NULL, tell, NULL) == 0, "a thread can be made");
    for (int row = 0; row <= ROWS; row++) {
        if (row == ROWS)
            close(open(arguments[1], O_CREAT | O_WRONLY, 0600));
        for (int i = 0; i < LENGTH; i++)
            launch(host.queue, kernel, 1, &events[i]);
        atomic_store(&is_last, row == ROWS);
        must(clFinish(host.queue), "clFinish");
        if (row < ROWS)
            for (int i = 0; i < LENGTH; i++)
                must(clReleaseEvent(events[i]), "clReleaseEvent");
    }
    pthread_join(teller, NULL);
    for (int i = 0; i < LENGTH; i++)
        printf("%d\n", status_of(events[i]));
    return 0;
}
