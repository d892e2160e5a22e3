/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <sys/mman.h>

static void copy_half_beside(cl_mem mapped, cl_map_flags flags, cl_mem from, cl_mem to)
{
    void *half = map_buffer(host.queue, mapped, flags, SIZE / 2, SIZE / 2);
    MUST(clEnqueueCopyBuffer(host.queue, from, to, 0, 0, fixed ? SIZE / 2 : SIZE, 0, NULL, NULL));
    unmap(mapped, half);
    finish();
}

/* finds: buffers: read while mapped for writing */
void copy_from_mapped(void)
{
    start(&host, ADD_ONE);
    cl_mem from = filled_buffer(SIZE), to = new_buffer(&host, SIZE);
    copy_half_beside(from, CL_MAP_WRITE_INVALIDATE_REGION, from, to);
}

/* finds: buffers: written while mapped */
void copy_to_mapped(void)
{
    start(&host, ADD_ONE);
    cl_mem from = filled_buffer(SIZE), to = filled_buffer(SIZE);
    copy_half_beside(to, CL_MAP_READ, from, to);
}

/* finds: buffers: access before the start */
void kernel_before_begin(void)
{
    start(&host,
          "kernel void back(global int *data, int by) { data[get_global_id(0) - by] = 1; }\n");
    cl_kernel kernel = kernel_with("back", filled_buffer(SIZE));
    const cl_int by = fixed ? 0 : 1;
    set_argument(kernel, 1, sizeof by, &by);
    launch(host.queue, kernel, COUNT, NULL);
    finish();
}

/* finds: buffers: access past the end
 *
 * What the allocator adds to a buffer of 4000 bytes is not the kernel's. */
void kernel_little_past_end(void)
{
    start(&host, ADD_ONE);
    launch(host.queue, kernel_with("add_one", filled_buffer(4000)), fixed ? 1000 : 1001, NULL);
    finish();
}

/* finds: buffers: access past the end */
void kernel_past_end(void)
{
    start(&host, ADD_ONE);
    cl_kernel kernel = kernel_with("add_one", filled_buffer(SIZE));
    launch(host.queue, kernel, fixed ? COUNT : COUNT + 1, NULL);
    finish();
}

/* finds: buffers: read while mapped for writing */
void kernel_reads_mapped(void)
{
    start(&host, ADD_ONE);
    cl_mem from = filled_buffer(SIZE), to = new_buffer(&host, SIZE);
    cl_kernel kernel = copy_kernel(from, to);
    size_t first = fixed ? COUNT / 2 : 0; /* of the mapped elements */
    cl_int *mapped = map_buffer(host.queue, from, CL_MAP_WRITE, first * sizeof(cl_int),
                                SIZE - first * sizeof(cl_int));
    for (size_t i = first; i < COUNT; i++)
        mapped[i - first] = (cl_int)i;
    launch(host.queue, kernel, fixed ? first : COUNT, NULL);
    unmap(from, mapped);
    finish();
}

/* finds: buffers: access past the end */
void kernel_reads_past_end(void)
{
    start(&host, ADD_ONE);
    cl_mem from = filled_buffer(fixed ? SIZE : SIZE / 2), to = new_buffer(&host, SIZE);
    launch(host.queue, copy_kernel(from, to), COUNT, NULL);
    finish();
}

/* finds: buffers: written while mapped */
void kernel_writes_mapped(void)
{
    start(&host, ADD_ONE);
    cl_mem buffer = filled_buffer(SIZE);
    cl_kernel kernel = kernel_with("add_one", buffer);
    void *mapped = map_buffer(host.queue, buffer, CL_MAP_READ, 0, SIZE);
    if (fixed)
        unmap(buffer, mapped);
    launch(host.queue, kernel, COUNT, NULL);
    if (!fixed)
        unmap(buffer, mapped);
    finish();
}

/* finds: buffers: host memory in use by a command */
void memory_changed(void)
{
    static cl_int data[COUNT];
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_event gate = user_event(&host), written;
    MUST(clEnqueueWriteBuffer(host.queue, buffer, CL_FALSE, 0, SIZE, data, 1, &gate, &written));
    if (!fixed)
        data[COUNT - 1] = 1;
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clWaitForEvents(1, &written));
    data[COUNT - 1] = 2;
}

/* finds: buffers: host memory in use by a command
 *
 * A migration writes to the memory meanwhile, and that is no use by the host. */
void memory_migrated(void)
{
    static cl_int data[COUNT] __attribute__((aligned(4096)));
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer_with(host.context, CL_MEM_USE_HOST_PTR, SIZE, data);
    cl_mem to = new_buffer(&host, SIZE);
    cl_command_queue other = new_queue(&host);
    launch(host.queue, kernel_with("add_one", buffer), COUNT, NULL);
    finish();
    cl_event gate = user_event(&host);
    MUST(clEnqueueWriteBuffer(host.queue, to, CL_FALSE, 0, SIZE, data, 1, &gate, NULL));
    MUST(clEnqueueMigrateMemObjects(other, 1, &buffer, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    MUST(clFinish(other));
    must_be(data[0] == 1, "the buffer is in the host's memory");
    if (!fixed)
        data[COUNT - 1] = 2;
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    finish();
}

static cl_int *mapped_memory(void *place, int flags)
{
    void *made =
        mmap(place, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    must_be(made != MAP_FAILED, "there is memory");
    return made;
}

/* finds: buffers: host memory in use by a command */
void memory_freed(void)
{
    start(&host, ADD_ONE);
    cl_int *data = mapped_memory(NULL, 0);
    memset(data, 1, SIZE);
    cl_mem buffer = filled_buffer(SIZE);
    cl_event gate = user_event(&host);
    MUST(clEnqueueReadBuffer(host.queue, buffer, CL_FALSE, 0, SIZE, data, 1, &gate, NULL));
    if (!fixed) {
        munmap(data, SIZE);
        memset(mapped_memory(data, MAP_FIXED), 2, SIZE); /* the next one to get it */
    }
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    finish();
    munmap(data, SIZE);
}

/* finds: buffers: overlapping mappings */
void overlapping_maps(void)
{
    start(&host, ADD_ONE);
    cl_mem buffer = filled_buffer(SIZE);
    void *first = map_buffer(host.queue, buffer, CL_MAP_WRITE, 0, SIZE / 2);
    void *second =
        map_buffer(host.queue, buffer, CL_MAP_READ, fixed ? SIZE / 2 : SIZE / 4, SIZE / 2);
    unmap(buffer, first);
    unmap(buffer, second);
    finish();
}

/* finds: buffers: read before anything was written */
void read_unwritten(void)
{
    static cl_int data[COUNT];
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer(&host, SIZE);
    if (fixed)
        fill(host.queue, buffer, 0, SIZE);
    read_back(host.queue, buffer, SIZE, data);
    finish();
}

/* finds: buffers: host memory in use by a command
 *
 * Every other column is the transfer's; the rest is the host's. */
void rectangle_changed(void)
{
    enum { ROWS = 16, ROW = SIZE / ROWS };
    static char data[SIZE];
    const size_t origin[3] = {0}, region[3] = {ROW / 2, ROWS, 1};
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer(&host, SIZE);
    cl_event gate = user_event(&host);
    MUST(clEnqueueWriteBufferRect(host.queue, buffer, CL_FALSE, origin, origin, region, ROW, 0, ROW,
                                  0, data, 1, &gate, NULL));
    data[fixed ? ROW - 1 : ROW / 2 - 1] = 1;
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    finish();
}

static void add_one_in_two_queues(const cl_mem buffers[2], cl_command_queue other)
{
    const cl_command_queue queues[2] = {host.queue, other};
    for (int i = 0; i < 2; i++)
        launch(queues[i], kernel_with("add_one", buffers[i]), COUNT / 2, NULL);
    finish();
    MUST(clFinish(other));
}

static cl_mem parent_of_sub_buffers(void)
{
    start(&host, ADD_ONE);
    cl_mem parent = filled_buffer(SIZE);
    finish();
    return parent;
}

/* finds: buffers: sub-buffer and buffer at once */
void sub_buffer_and_buffer(void)
{
    cl_mem parent = parent_of_sub_buffers();
    const cl_mem buffers[] = {region_of(parent, CL_MEM_READ_WRITE, SIZE / 2, SIZE / 2), parent};
    add_one_in_two_queues(buffers, fixed ? host.queue : new_queue(&host));
}

/* finds: buffers: overlapping sub-buffers used at once */
void sub_buffers_at_once(void)
{
    cl_mem parent = parent_of_sub_buffers();
    const cl_mem windows[] = {
        region_of(parent, CL_MEM_READ_WRITE, 0, SIZE / 2),
        region_of(parent, CL_MEM_READ_WRITE, fixed ? SIZE / 2 : SIZE / 4, SIZE / 2),
    };
    add_one_in_two_queues(windows, new_queue(&host));
}

/* finds: buffers: transfer past the end
 *
 * The host does not look at the status. */
void transfer_past_end(void)
{
    static cl_int data[COUNT];
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer(&host, SIZE);
    const size_t offset = fixed ? 0 : sizeof data[0];
    clEnqueueWriteBuffer(host.queue, buffer, CL_TRUE, offset, SIZE, data, 0, NULL, NULL);
}
