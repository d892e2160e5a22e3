/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches in rows, of which the engine refuses some (refusing_engine.c) once there is the file
 * that is the argument. Each writes a number of its own, and no other launch may take the blame. */
#include "host.h"

#include <fcntl.h>

enum { ROWS = 60, MOST = 5 };

static const char *source = "kernel void put(global int *x, int place, int value)"
                            "{ if (get_global_id(0) == 0) x[place] = value; }";

/* Whether what a launch wrote is there if, and only if, its event ended well. */
static int is_right(cl_event event, int found, int written, int *failed)
{
    cl_int status = CL_QUEUED;
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    *failed += status < 0;
    return status <= CL_COMPLETE && (status == CL_COMPLETE) == (found == written);
}

static cl_int *map(struct host *host, cl_mem buffer, cl_uint waits, const cl_event *list,
                   cl_event *event)
{
    cl_int status;
    cl_int *mapped = clEnqueueMapBuffer(host->queue, buffer, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE,
                                        0, MOST * sizeof(cl_int), waits, list, event, &status);
    must(status, "map");
    return mapped;
}

static void unmap(struct host *host, cl_mem buffer, void *mapped)
{
    must(clEnqueueUnmapMemObject(host->queue, buffer, mapped, 0, NULL, NULL), "unmap");
    must(clFinish(host->queue), "finish");
}

/* A region whose command waits for a launch that is refused is not written back. */
static void map_behind(struct host *host, cl_kernel kernel, cl_mem buffer)
{
    cl_int before[MOST], after[MOST];
    cl_event launched, mapping;
    unmap(host, buffer, map(host, buffer, 0, NULL, NULL));
    for (int refused = 0; refused < 3;) {
        launch(host->queue, kernel, 1, &launched);
        must(clFinish(host->queue), "finish");
        read_back(host->queue, buffer, sizeof before, before);
        cl_int *mapped = map(host, buffer, 1, &launched, &mapping);
        must(clFinish(host->queue), "finish");
        must_be((status_of(launched) < 0) == (status_of(mapping) < 0), "one fails with the other");
        mapped[0] += 1;
        unmap(host, buffer, mapped);
        read_back(host->queue, buffer, sizeof after, after);
        must_be(after[0] - before[0] == (status_of(mapping) < 0 ? 0 : 1), "what is written back");
        refused += status_of(mapping) < 0;
        must(clReleaseEvent(launched), "release");
        must(clReleaseEvent(mapping), "release");
    }
}

int main(int count, char **words)
{
    struct host host;
    if (count < 2)
        return 2;
    start(&host, source);
    cl_int found[MOST], failed = 0;
    cl_kernel kernel = new_kernel(&host, "put");
    cl_mem buffer = new_buffer(&host, sizeof found);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    for (cl_int row = 1; row <= ROWS; row++) {
        cl_int length = row % MOST + 1;
        cl_event events[MOST];
        size_t size = 1;
        if (row == ROWS / 2)
            close(open(words[1], O_CREAT | O_WRONLY, 0600));
        for (cl_int place = 0; place < length; place++) {
            set_argument(kernel, 1, sizeof place, &place);
            set_argument(kernel, 2, sizeof row, &row);
            launch(host.queue, kernel, size, &events[place]);
        }
        must(clFinish(host.queue), "finish");
        read_back(host.queue, buffer, sizeof found, found);
        for (cl_int place = 0; place < length; place++) {
            if (!is_right(events[place], found[place], row, &failed)) {
                printf("row %d: launch %d\n", row, place);
                return 1;
            }
            must(clReleaseEvent(events[place]), "release");
        }
    }
    map_behind(&host, kernel, buffer);
    printf("%d\n", failed);
    return 0;
}
