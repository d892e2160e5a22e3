/* SPDX-License-Identifier: Apache-2.0
 *
 * exit(7) while kernels are queued and running: from main, from another thread, from the callback
 * of an event. The exit status is the host's own, and the process ends.
 *
 *     exit_with_work_in_flight main | thread | callback */
#include "host.h"

static void *leave_from_thread(void *unused)
{
    (void)unused;
    exit(7);
}

static void CL_CALLBACK leave_from_callback(cl_event event, cl_int status, void *unused)
{
    (void)event, (void)status, (void)unused;
    exit(7);
}

int main(int count, char **arguments)
{
    struct host host;
    const char *from = count > 1 ? arguments[1] : "main";
    cl_uint rounds = 1000000;
    cl_event first;
    pthread_t thread;
    start(&host, SPIN_SOURCE);
    cl_kernel spin = new_kernel(&host, "spin");
    cl_mem buffer = new_buffer(&host, 64 * sizeof(cl_uint));
    set_argument(spin, 0, sizeof buffer, &buffer);
    set_argument(spin, 1, sizeof rounds, &rounds);
    launch(host.queue, spin, 64, &first);
    for (int i = 0; i < 1000; i++)
        launch(host.queue, spin, 64, NULL);
    if (strcmp(from, "callback") == 0)
        MUST(clSetEventCallback(first, CL_COMPLETE, leave_from_callback, NULL));
    MUST(clFlush(host.queue));
    if (strcmp(from, "main") == 0)
        exit(7);
    if (strcmp(from, "thread") == 0 && pthread_create(&thread, NULL, leave_from_thread, NULL) != 0)
        return 1;
    clFinish(host.queue); /* the other thread ends the process meanwhile */
    for (;;)
        pause();
}
