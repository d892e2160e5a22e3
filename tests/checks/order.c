/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

/* Each fill has a value of its own, because writes show in bytes that change. */
static void fill_from(cl_command_queue queue, cl_mem buffer, size_t offset, cl_event *after,
                      cl_event *filled)
{
    static cl_int value;
    value++;
    MUST(clEnqueueFillBuffer(queue, buffer, &value, sizeof value, offset, SIZE - offset,
                             after != NULL, after, filled));
}

/* finds: order: two writes without order
 *
 * The kernel hands its pointer on: what it does with it shows only when it has run. */
void hidden_write(void)
{
    cl_event filled;
    start(&host, "void set(global int *p) { p[0] = 7; }\n"
                 "kernel void hidden(global int *data) { set(data + get_global_id(0)); }\n");
    cl_command_queue queue = new_out_of_order_queue();
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_kernel kernel = kernel_with("hidden", buffer);
    fill_from(queue, buffer, 0, NULL, &filled);
    MUST(clWaitForEvents(1, &filled));
    launch(queue, kernel, COUNT, &filled);
    if (fixed)
        MUST(clWaitForEvents(1, &filled));
    fill_from(queue, buffer, 0, NULL, NULL);
    MUST(clFinish(queue));
}

/* finds: order: two writes without order
 *
 * Two queues read into the same host memory. */
void host_memory_of_two_reads(void)
{
    static cl_int data[COUNT];
    cl_event read;
    start(&host, ADD_ONE);
    cl_command_queue other = new_queue(&host);
    cl_mem first = filled_buffer(SIZE), second = new_buffer(&host, SIZE);
    fill(other, second, 1, SIZE);
    MUST(clEnqueueReadBuffer(host.queue, first, CL_FALSE, 0, SIZE, data, 0, NULL, &read));
    MUST(clEnqueueReadBuffer(other, second, CL_FALSE, 0, SIZE, data, fixed, fixed ? &read : NULL,
                             NULL));
    finish();
    MUST(clFinish(other));
}

/* finds: order: read without order after a write */
void out_of_order_queue(void)
{
    static cl_int data[COUNT];
    start(&host, ADD_ONE);
    cl_command_queue queue = new_out_of_order_queue();
    cl_mem from = new_buffer(&host, SIZE), to = new_buffer(&host, SIZE);
    cl_kernel kernel = copy_kernel(from, to);
    MUST(clEnqueueWriteBuffer(queue, from, CL_FALSE, 0, SIZE, data, 0, NULL, NULL));
    if (fixed)
        MUST(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
    launch(queue, kernel, COUNT, NULL);
    MUST(clFinish(queue));
}

/* A buffer that a kernel has begun to write, in the queue of the host. */
static cl_mem begin_to_add(cl_event *added)
{
    start(&host, ADD_ONE);
    cl_mem buffer = filled_buffer(SIZE);
    launch(host.queue, kernel_with("add_one", buffer), COUNT, added);
    MUST(clFlush(host.queue));
    return buffer;
}

/* finds: order: read without order after a write
 *
 * The data is right: the queue is flushed and the host is in no hurry. */
void right_by_chance(void)
{
    static cl_int data[COUNT];
    cl_event added;
    const struct timespec pause = {0, 1000000};
    cl_mem buffer = begin_to_add(&added);
    if (fixed)
        while (status_of(added) != CL_COMPLETE)
            ;
    else
        for (int i = 0; i < 500; i++)
            nanosleep(&pause, NULL);
    read_back(new_queue(&host), buffer, SIZE, data);
    must_be(data[COUNT - 1] == 2, "the data is right");
    finish();
}

/* finds: order: read without order after a write */
void two_queues(void)
{
    static cl_int data[COUNT];
    cl_event added;
    cl_mem buffer = begin_to_add(&added);
    MUST(clEnqueueReadBuffer(new_queue(&host), buffer, CL_TRUE, 0, SIZE, data, fixed,
                             fixed ? &added : NULL, NULL));
    finish();
}

/* finds: order: two writes without order */
void two_writes(void)
{
    cl_event filled;
    start(&host, ADD_ONE);
    cl_command_queue queue = new_out_of_order_queue();
    cl_mem buffer = new_buffer(&host, SIZE);
    fill_from(queue, buffer, 0, NULL, &filled);
    fill_from(queue, buffer, SIZE / 2, fixed ? &filled : NULL, NULL);
    MUST(clFinish(queue));
}

/* finds: order: write without order after a read */
void write_before_read_ends(void)
{
    static cl_int data[COUNT], next[COUNT];
    cl_event read;
    start(&host, ADD_ONE);
    cl_command_queue other = new_queue(&host);
    cl_mem buffer = filled_buffer(SIZE);
    finish();
    MUST(clEnqueueReadBuffer(host.queue, buffer, CL_FALSE, 0, SIZE, data, 0, NULL, &read));
    MUST(clFlush(host.queue));
    MUST(clEnqueueWriteBuffer(other, buffer, CL_TRUE, 0, SIZE, next, fixed, fixed ? &read : NULL,
                              NULL));
    finish();
}
