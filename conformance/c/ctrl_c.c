/* SPDX-License-Identifier: Apache-2.0
 *
 * A host that is busy for long. Whoever starts it waits for the line "running", sends SIGINT, and
 * sees it die of that.
 *
 *     ctrl_c kernel | event | host
 *
 * kernel: in clFinish, behind a long kernel; event: in clWaitForEvents, for an event that nobody
 * completes; host: in a loop of its own after the driver was used. */
#include "host.h"

#include <signal.h>

int main(int count, char **arguments)
{
    struct host host;
    cl_uint rounds = 0xffffffff;
    const char *how = count > 1 ? arguments[1] : "kernel";
    signal(SIGINT, SIG_DFL); /* a shell starts background jobs with SIGINT ignored */
    start(&host, SPIN_SOURCE);
    cl_kernel spin = new_kernel(&host, "spin");
    cl_mem buffer = new_buffer(&host, 256);
    fill(host.queue, buffer, 1, 256);
    set_argument(spin, 0, sizeof buffer, &buffer);
    set_argument(spin, 1, sizeof rounds, &rounds);
    MUST(clFinish(host.queue));
    cl_event gate = user_event(&host);
    puts("running");
    fflush(stdout);
    if (strcmp(how, "kernel") == 0) {
        for (int i = 0; i < 100; i++)
            launch(host.queue, spin, 64, NULL);
        clFinish(host.queue);
    }
    if (strcmp(how, "event") == 0)
        clWaitForEvents(1, &gate);
    for (volatile unsigned long i = 0;; i = i + 1)
        ;
}
