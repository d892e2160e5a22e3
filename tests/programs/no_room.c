/* SPDX-License-Identifier: Apache-2.0
 *
 * A row of launches that recur, some of them on a buffer for which the board has no room: each of
 * those is refused when it is enqueued, and the others run. Prints how many ran. */
#include "host.h"

enum { LAUNCHES = 20, WRONG_EACH = 5, MOST = 64 };

static const char source[] = "kernel void count(global int *x) { x[0] += 1; }";
static struct host host;

/* Until less than `wanted` bytes are left. */
static void fill_board(cl_ulong wanted)
{
    cl_ulong left;
    MUST(clGetDeviceInfo(host.device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof left, &left, NULL));
    for (int i = 0; i < MOST && left >= wanted; i++) {
        cl_ulong size = left > wanted ? wanted : left / 2;
        cl_mem buffer = new_buffer(&host, size);
        fill(host.queue, buffer, 0, sizeof(cl_int));
        MUST(clFinish(host.queue));
        left -= size;
    }
}

int main(void)
{
    cl_ulong largest;
    cl_int counted = 0;
    start(&host, source);
    MUST(
        clGetDeviceInfo(host.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, NULL));
    cl_kernel kernel = new_kernel(&host, "count");
    cl_mem small = new_buffer(&host, sizeof counted), large = new_buffer(&host, largest);
    fill(host.queue, small, 0, sizeof counted);
    set_argument(kernel, 0, sizeof large, &large);
    set_argument(kernel, 0, sizeof small, &small);
    for (int i = 0; i < 6; i++)
        launch(host.queue, kernel, 1, NULL);
    MUST(clFinish(host.queue));
    fill_board(largest);
    fill(host.queue, small, 0, sizeof counted);
    for (int i = 0; i < LAUNCHES; i++) {
        size_t one = 1;
        int is_wrong = i % WRONG_EACH == WRONG_EACH - 1;
        set_argument(kernel, 0, sizeof small, is_wrong ? &large : &small);
        cl_int status =
            clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
        must_be(status == (is_wrong ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS),
                "a launch is refused if there is no room, and only then");
    }
    read_back(host.queue, small, sizeof counted, &counted);
    printf("%d\n", counted);
    return 0;
}
