/* SPDX-License-Identifier: Apache-2.0
 *
 * A destructor callback that waits for a call of another thread: its buffer is destroyed behind a
 * launch that C has carried. */
#include "host.h"

#include <semaphore.h>

enum { LEARNED = 4, ITEMS = 16 };

static struct host host;
static sem_t began, called, destroyed;

static void CL_CALLBACK is_destroyed(cl_mem buffer, void *nothing)
{
    (void)buffer, (void)nothing;
    sem_post(&began);
    sem_wait(&called);
    sem_post(&destroyed);
}

static void *call(void *nothing)
{
    cl_uint devices;
    sem_wait(&began);
    MUST(clGetContextInfo(host.context, CL_CONTEXT_NUM_DEVICES, sizeof devices, &devices, NULL));
    MUST(clFlush(host.queue));
    sem_post(&called);
    return nothing;
}

int main(void)
{
    pthread_t thread;
    cl_mem buffer;
    sem_init(&began, 0, 0);
    sem_init(&called, 0, 0);
    sem_init(&destroyed, 0, 0);
    start(&host, "kernel void count(global int *x) { x[get_global_id(0)]++; }");
    cl_kernel count = new_kernel(&host, "count");
    pthread_create(&thread, NULL, call, NULL);
    for (int i = 0; i < LEARNED; i++) {
        buffer = new_buffer(&host, ITEMS * sizeof(cl_int));
        set_argument(count, 0, sizeof buffer, &buffer);
        if (i == LEARNED - 1)
            MUST(clSetMemObjectDestructorCallback(buffer, is_destroyed, NULL));
        launch(host.queue, count, ITEMS, NULL);
        MUST(clReleaseMemObject(buffer));
        MUST(clFinish(host.queue));
    }
    sem_wait(&destroyed);
    pthread_join(thread, NULL);
    MUST(clReleaseKernel(count));
    stop(&host);
    return 0;
}
