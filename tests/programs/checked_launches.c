/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the same mistakes in launches again and again, for checks: after the first ones of a
 * kernel, C carries them. */
#include "../checks/check.h"

enum { TIMES = 3, ITEMS = 1000, BYTES = ITEMS * sizeof(cl_int) };

static cl_kernel add_one, copy;

static void launch_right(cl_command_queue queue)
{
    launch(queue, add_one, ITEMS, NULL);
}

static void launch_one_item_too_many(cl_command_queue queue)
{
    launch(queue, add_one, ITEMS + 1, NULL);
}

static void launch_into_the_next_page(cl_command_queue queue)
{
    launch(queue, add_one, 2 * ITEMS, NULL);
}

static void launch_in_groups_that_are_too_large(cl_command_queue queue)
{
    const size_t count = ITEMS, group = 100;
    must(clEnqueueNDRangeKernel(queue, copy, 1, NULL, &count, &group, 0, NULL, NULL),
         "clEnqueueNDRangeKernel");
}

static void launch_copy(cl_command_queue queue)
{
    launch(queue, copy, ITEMS, NULL);
}

/* Calls a function once with a wait behind it, which makes Python find what C needs, and then
 * several times. */
static void again_and_again(void (*enqueue)(cl_command_queue queue), cl_command_queue queue)
{
    enqueue(queue);
    must(clFinish(queue), "clFinish");
    for (int i = 0; i < TIMES; i++)
        enqueue(queue);
}

static void run(void)
{
    static cl_int data[ITEMS];
    cl_int status;
    start(&host, "kernel void add_one(global int *data) { data[get_global_id(0)] += 1; }\n"
                 "__attribute__((max_work_group_size(64)))\n"
                 "kernel void copy(global const int *from, global int *to)\n"
                 "{ size_t i = get_global_id(0); to[i] = from[i]; }\n");
    cl_command_queue other = new_queue(&host);
    cl_mem buffer = new_buffer(&host, BYTES), target = new_buffer(&host, BYTES);
    add_one = new_kernel(&host, "add_one");
    copy = new_kernel(&host, "copy");
    fill(host.queue, buffer, 1, BYTES);
    fill(host.queue, target, 1, BYTES);
    set_argument(add_one, 0, sizeof buffer, &buffer);
    set_argument(copy, 0, sizeof buffer, &buffer);
    set_argument(copy, 1, sizeof target, &target);
    again_and_again(launch_right, host.queue);
    again_and_again(launch_one_item_too_many, host.queue);
    again_and_again(launch_into_the_next_page, host.queue);
    again_and_again(launch_right, host.queue);
    again_and_again(launch_in_groups_that_are_too_large, host.queue);
    finish();
    again_and_again(launch_right, host.queue);
    again_and_again(launch_in_groups_that_are_too_large, other); /* not ordered behind these */
    must(clFinish(other), "clFinish");
    void *mapped = clEnqueueMapBuffer(host.queue, buffer, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL,
                                      NULL, &status);
    must(status, "clEnqueueMapBuffer");
    again_and_again(launch_right, host.queue);
    must(clEnqueueUnmapMemObject(host.queue, buffer, mapped, 0, NULL, NULL),
         "clEnqueueUnmapMemObject");
    again_and_again(launch_right, host.queue);
    again_and_again(launch_copy, host.queue);
    must(clEnqueueWriteBuffer(other, target, CL_FALSE, 0, BYTES, data, 0, NULL, NULL),
         "clEnqueueWriteBuffer"); /* not ordered behind these */
    must(clFinish(other), "clFinish");
    finish();
    must(clEnqueueReadBuffer(other, buffer, CL_TRUE, 0, BYTES, data, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    for (int i = 0; i < ITEMS; i++)
        must(data[i] == data[0] ? CL_SUCCESS : CL_INVALID_VALUE, "the data");
}
