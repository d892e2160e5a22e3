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

static void deeper(cl_command_queue queue, int more)
{
    if (more > 0)
        deeper(queue, more - 1);
    else
        launch(queue, add_one, 2 * ITEMS, NULL);
}

static void launch_behind_many_frames(cl_command_queue queue)
{
    deeper(queue, 16);
}

static void launch_in_groups_that_are_too_large(cl_command_queue queue)
{
    const size_t count = ITEMS, group = 100;
    MUST(clEnqueueNDRangeKernel(queue, copy, 1, NULL, &count, &group, 0, NULL, NULL));
}

static void launch_copy(cl_command_queue queue)
{
    launch(queue, copy, ITEMS, NULL);
}

static void launch_after_one_of_another_queue(cl_command_queue queue)
{
    const size_t count = ITEMS;
    cl_event first;
    MUST(clEnqueueNDRangeKernel(host.queue, copy, 1, NULL, &count, NULL, 0, NULL, &first));
    MUST(clEnqueueNDRangeKernel(queue, copy, 1, NULL, &count, NULL, 1, &first, NULL));
    MUST(clReleaseEvent(first));
    MUST(clFinish(queue));
}

/* The buffer moves while the launch waits in its queue: its marks are in another place when it
 * runs. */
static void launch_before_a_move(cl_mem buffer, cl_command_queue other)
{
    cl_event gate = user_event(&host);
    MUST(clEnqueueMarkerWithWaitList(host.queue, 1, &gate, NULL));
    launch_one_item_too_many(host.queue);
    MUST(clEnqueueMigrateMemObjects(other, 1, &buffer, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    MUST(clFinish(other));
    filled_buffer(BYTES); /* may take its place */
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clReleaseEvent(gate));
    finish();
}

/* Calls a function once with a wait behind it, which makes Python find what C needs, and then
 * several times. */
static void again_and_again(void (*enqueue)(cl_command_queue queue), cl_command_queue queue)
{
    enqueue(queue);
    MUST(clFinish(queue));
    for (int i = 0; i < TIMES; i++)
        enqueue(queue);
}

void run(void)
{
    static cl_int data[ITEMS];
    start(&host, "kernel void add_one(global int *data) { data[get_global_id(0)] += 1; }\n"
                 "__attribute__((max_work_group_size(64)))\n"
                 "kernel void copy(global const int *from, global int *to)\n"
                 "{ size_t i = get_global_id(0); to[i] = from[i]; }\n");
    cl_command_queue other = new_queue(&host);
    cl_mem buffer = filled_buffer(BYTES), target = filled_buffer(BYTES);
    add_one = kernel_with("add_one", filled_buffer(BYTES));
    again_and_again(launch_right, host.queue);
    launch_behind_many_frames(host.queue); /* C carries the first wrong one, too */
    finish();
    add_one = kernel_with("add_one", buffer);
    copy = copy_kernel(buffer, target);
    again_and_again(launch_right, host.queue);
    again_and_again(launch_one_item_too_many, host.queue);
    again_and_again(launch_into_the_next_page, host.queue);
    again_and_again(launch_right, host.queue);
    again_and_again(launch_in_groups_that_are_too_large, host.queue);
    finish();
    again_and_again(launch_right, host.queue);
    again_and_again(launch_in_groups_that_are_too_large, other); /* not ordered behind these */
    MUST(clFinish(other));
    void *mapped = map_buffer(host.queue, buffer, CL_MAP_READ, 0, BYTES);
    again_and_again(launch_right, host.queue);
    unmap(buffer, mapped);
    again_and_again(launch_right, host.queue);
    again_and_again(launch_copy, host.queue);
    finish();
    again_and_again(launch_right, host.queue);
    launch_before_a_move(buffer, other);
    again_and_again(launch_after_one_of_another_queue, other);
    again_and_again(launch_copy, host.queue);
    /* not ordered behind these */
    MUST(clEnqueueWriteBuffer(other, target, CL_FALSE, 0, BYTES, data, 0, NULL, NULL));
    MUST(clFinish(other));
    finish();
    read_back(other, buffer, BYTES, data);
    for (int i = 0; i < ITEMS; i++)
        must(data[i] == data[0] ? CL_SUCCESS : CL_INVALID_VALUE, "the data");
}
