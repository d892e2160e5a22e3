/* SPDX-License-Identifier: Apache-2.0
 *
 * A host one of whose launches crashes: run_that_crashes COUNT NUMBER [events]
 * Enqueues COUNT launches of one kernel without a wait in between, often enough before that they
 * are recorded. The one with that number writes far past its buffer. Says how each ended, where it
 * keeps their events, what it was told, and how often each launch ran. */
#include "host.h"

#define MOST 512
static const char source[] = "kernel void mark(global int *ran, int number, ulong beyond) {\n"
                             "    ran[number]++;\n"
                             "    ran[beyond] = 1;\n"
                             "}\n";

static void CL_CALLBACK told(const char *words, const void *info, size_t size, void *data)
{
    (void)info, (void)size, (void)data;
    printf("told %s\n", words);
}

/* Launches `count` times; the `crash`th crashes. */
static void launch_all(cl_command_queue queue, cl_kernel kernel, cl_int count, cl_int crash,
                       cl_event *events)
{
    for (cl_int i = 0; i < count; i++) {
        cl_ulong beyond = i == crash ? (cl_ulong)1 << 34 : MOST;
        set_argument(kernel, 1, sizeof i, &i);
        set_argument(kernel, 2, sizeof beyond, &beyond);
        launch(queue, kernel, 1, events != NULL ? &events[i] : NULL);
    }
}

int main(int count, char **arguments)
{
    cl_int launches = atoi(arguments[1]), crash = atoi(arguments[2]), status;
    struct host host;
    static cl_event events[MOST];
    static cl_int ran[MOST + 1];
    int keeps_events = count > 3 && strcmp(arguments[3], "events") == 0;
    find_device(&host);
    host.context = clCreateContext(NULL, 1, &host.device, told, NULL, &status);
    must(status, "clCreateContext");
    host.program = new_program(&host, source, "");
    cl_command_queue queue = new_queue(&host);
    cl_kernel kernel = new_kernel(&host, "mark");
    cl_mem buffer = new_buffer(&host, sizeof ran);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    for (int i = 0; i < 3; i++) {
        launch_all(queue, kernel, launches, -1, NULL);
        MUST(clFinish(queue));
    }
    write_buffer(queue, buffer, sizeof ran, ran);
    launch_all(queue, kernel, launches, crash, keeps_events ? events : NULL);
    printf("finish %d\n", clFinish(queue));
    for (cl_int i = 0; keeps_events && i < launches; i++) {
        printf("%s%d", i > 0 ? " " : "status ", status_of(events[i]));
        clReleaseEvent(events[i]);
    }
    read_back(queue, buffer, sizeof ran, ran);
    printf("%s", keeps_events ? "\nran" : "ran");
    for (cl_int i = 0; i < launches; i++)
        printf(" %d", ran[i]);
    printf("\n");
    return 0;
}
