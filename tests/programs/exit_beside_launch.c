/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread calls exit() while the engine uses a static object in a launch of another thread. */
#include "host.h"
#include "static_engine.h"

#include <stdatomic.h>

static atomic_int stage;

static void has_begun(void)
{
    stage = EXITING;
}

static void *leave(void *unused)
{
    (void)unused;
    while (stage != USED)
        sched_yield();
    atexit(has_begun);
    exit(IN_ORDER);
}

int main(void)
{
    struct host host;
    char address[32];
    pthread_t thread;
    snprintf(address, sizeof address, "%p", (void *)&stage);
    setenv(STAGE, address, 1);
    start(&host, SPIN_SOURCE);
    cl_kernel kernel = new_kernel(&host, "add");
    cl_mem buffer = new_buffer(&host, sizeof(cl_int));
    cl_int amount = 1;
    set_argument(kernel, 0, sizeof buffer, &buffer);
    set_argument(kernel, 1, sizeof amount, &amount);
    if (pthread_create(&thread, NULL, leave, NULL) != 0)
        return 1;
    launch(host.queue, kernel, 1, NULL);
    clFinish(host.queue); /* the other thread ends the process meanwhile */
    for (;;)
        pause();
}
