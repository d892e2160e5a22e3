/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers over memory of the host whose first commands several threads enqueue at once: each kernel
 * sees what the host had written, whichever of them has the contents moved (OpenCL 3.0, 5.2.1). */
#include "host.h"

enum {
    ROUNDS = 400,
    READERS = 4,
    WORDS = 256 << 10,
    BYTES = WORDS * sizeof(cl_int),
    LAST = WORDS - 1
};

static struct host host;
static cl_int memory[WORDS] __attribute__((aligned(4096)));
static cl_mem buffer;
static pthread_barrier_t begins, ends;

static const char source[] = "kernel void last(global const int *in, global int *out, int at)"
                             "{ out[get_global_id(0)] = in[at]; }\n";

static void *read_it(void *number)
{
    cl_command_queue queue = new_queue(&host);
    cl_kernel kernel = new_kernel(&host, "last");
    cl_mem out = new_buffer(&host, sizeof(cl_int));
    cl_int at = LAST - (cl_int)(intptr_t)number, found;
    set_argument(kernel, 1, sizeof out, &out);
    set_argument(kernel, 2, sizeof at, &at);
    for (cl_int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&begins);
        set_argument(kernel, 0, sizeof buffer, &buffer);
        launch(queue, kernel, 1, NULL);
        read_back(queue, out, sizeof found, &found);
        must_be(found == round + at, "the kernel sees what the host had written");
        pthread_barrier_wait(&ends);
    }
    MUST(clReleaseMemObject(out));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    return NULL;
}

int main(void)
{
    pthread_t threads[READERS];
    start(&host, source);
    must(pthread_barrier_init(&begins, NULL, READERS + 1), "pthread_barrier_init");
    must(pthread_barrier_init(&ends, NULL, READERS + 1), "pthread_barrier_init");
    for (intptr_t i = 0; i < READERS; i++)
        must(pthread_create(&threads[i], NULL, read_it, (void *)i), "pthread_create");
    for (cl_int round = 0; round < ROUNDS; round++) {
        for (cl_int i = 0; i < WORDS; i++)
            memory[i] = round + i;
        buffer =
            new_buffer_with(host.context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, BYTES, memory);
        pthread_barrier_wait(&begins);
        if (round % 2 != 0) { /* a question between the first uses */
            void *asked;
            MUST(clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof asked, &asked, NULL));
            must_be(asked == memory, "CL_MEM_HOST_PTR is the host's pointer");
        }
        pthread_barrier_wait(&ends);
        MUST(clReleaseMemObject(buffer));
    }
    for (int i = 0; i < READERS; i++)
        must(pthread_join(threads[i], NULL), "pthread_join");
    stop(&host);
    puts("right");
    return 0;
}
