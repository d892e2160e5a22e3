/* SPDX-License-Identifier: Apache-2.0
 *
 * Small hosts for boards, each about one way in which bytes get to a board, on it and back:
 * `board_traffic NAME FIRST.aocx SECOND.aocx`. conformance/original.py runs them on the original
 * runtime and on fpgart and compares what either asked of the board. The programs have a kernel
 * `add`: out[i] = in[i] + number. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "usm.h"

enum { COUNT = 4096, BYTES = COUNT * sizeof(cl_int), MOST = 2 };

static struct host host; /* of the first device */
static cl_device_id devices[MOST];
static cl_uint device_count;
static cl_command_queue queues[MOST];
static cl_kernel kernels[2];
static cl_mem in, out;
static cl_int data[COUNT], got[COUNT];

static void expect(const cl_int *numbers, cl_int first)
{
    for (cl_int i = 0; i < COUNT; i++)
        if (numbers[i] != first + i) {
            printf("number %d is %d instead of %d\n", i, numbers[i], first + i);
            exit(1);
        }
}

static cl_kernel load(const char *path)
{
    size_t sizes[MOST];
    unsigned char *contents = file_contents(path, &sizes[0]);
    const unsigned char *each[MOST] = {contents, contents};
    cl_int status;
    sizes[1] = sizes[0];
    cl_program program =
        clCreateProgramWithBinary(host.context, device_count, devices, sizes, each, NULL, &status);
    must(status, "clCreateProgramWithBinary");
    MUST(clBuildProgram(program, device_count, devices, "", NULL, NULL));
    cl_kernel kernel = kernel_in(program, "add");
    MUST(clReleaseProgram(program));
    free(contents);
    return kernel;
}

static void begin(char **files)
{
    cl_int status;
    find_device(&host);
    MUST(clGetDeviceIDs(host.platform, CL_DEVICE_TYPE_ALL, MOST, devices, &device_count));
    host.context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
    must(status, "clCreateContext");
    for (cl_uint i = 0; i < device_count; i++) {
        queues[i] = clCreateCommandQueue(host.context, devices[i], 0, &status);
        must(status, "clCreateCommandQueue");
    }
    host.queue = queues[0];
    for (int i = 0; i < 2; i++)
        kernels[i] = load(files[i]);
    for (cl_int i = 0; i < COUNT; i++)
        data[i] = i;
    in = new_buffer(&host, BYTES);
    out = new_buffer(&host, BYTES);
}

static void send(int queue, cl_mem to)
{
    write_buffer(queues[queue], to, BYTES, data);
}

static void receive(int queue, cl_mem from, cl_int first)
{
    read_back(queues[queue], from, BYTES, got);
    expect(got, first);
}

static void run(int queue, cl_kernel kernel)
{
    const size_t whole = COUNT, group = 64;
    MUST(clEnqueueNDRangeKernel(queues[queue], kernel, 1, NULL, &whole, &group, 0, NULL, NULL));
    MUST(clFinish(queues[queue]));
}

static void add(int queue, cl_kernel kernel, cl_mem from, cl_mem to, cl_int number)
{
    set_argument(kernel, 0, sizeof from, &from);
    set_argument(kernel, 1, sizeof to, &to);
    set_argument(kernel, 2, sizeof number, &number);
    run(queue, kernel);
}

/* in + 1 is in `out` then. */
static void add_one(void)
{
    add(0, kernels[0], in, out, 1);
    receive(0, out, 1);
}

/* What the host writes to `in` through a mapping. */
static void send_mapped(cl_map_flags flags)
{
    void *numbers = map_buffer(host.queue, in, flags, 0, BYTES);
    memcpy(numbers, data, BYTES);
    MUST(clEnqueueUnmapMemObject(host.queue, in, numbers, 0, NULL, NULL));
}

static void expect_mapped(cl_mem buffer, cl_int first)
{
    cl_int *numbers = map_buffer(host.queue, buffer, CL_MAP_READ, 0, BYTES);
    expect(numbers, first);
    MUST(clEnqueueUnmapMemObject(host.queue, buffer, numbers, 0, NULL, NULL));
    MUST(clFinish(host.queue));
}

/* The hosts */

static void write_launch_read(void)
{
    in = new_buffer_with(host.context, CL_MEM_READ_ONLY, BYTES, NULL);
    send(0, in);
    add(0, kernels[0], in, out, 1);
    add(0, kernels[0], out, in, 1);
    receive(0, in, 2);
    MUST(clEnqueueCopyBuffer(host.queue, in, out, 0, 0, BYTES, 0, NULL, NULL));
    receive(0, out, 2);
}

static void written_after_the_argument_was_set(void)
{
    in = new_buffer_with(host.context, CL_MEM_READ_ONLY, BYTES, NULL);
    MUST(clSetKernelArg(kernels[0], 0, sizeof in, &in));
    MUST(clSetKernelArg(kernels[0], 1, sizeof out, &out));
    send(0, in);
    add_one();
}

static void copied_host_memory(void)
{
    in = new_buffer_with(host.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, BYTES, data);
    add_one();
}

static void copied_host_memory_read_first(void)
{
    in = new_buffer_with(host.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, BYTES, data);
    receive(0, in, 0);
    add_one();
}

static void host_memory_in_place(void)
{
    in = new_buffer_with(host.context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, BYTES, data);
    out = new_buffer_with(host.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, got);
    add(0, kernels[0], in, out, 1);
    expect_mapped(out, 1);
}

static void mapped(void)
{
    in = new_buffer_with(host.context, CL_MEM_READ_ONLY, BYTES, NULL);
    send_mapped(CL_MAP_WRITE);
    add(0, kernels[0], in, out, 1);
    expect_mapped(out, 1);
}

static void mapped_and_overwritten(void)
{
    in = new_buffer_with(host.context, CL_MEM_READ_ONLY, BYTES, NULL);
    send_mapped(CL_MAP_WRITE_INVALIDATE_REGION);
    add_one();
}

static void rectangles(void)
{
    const size_t origin[3] = {0, 0, 0}, inner[3] = {256, 4, 0}, region[3] = {512, 8, 1};
    send(0, in);
    MUST(clEnqueueWriteBufferRect(host.queue, in, CL_TRUE, inner, origin, region, 1024, 0, 512, 0,
                                  data, 0, NULL, NULL));
    MUST(clEnqueueCopyBufferRect(host.queue, in, out, inner, inner, region, 1024, 0, 1024, 0, 0,
                                 NULL, NULL));
    MUST(clEnqueueReadBufferRect(host.queue, out, CL_TRUE, inner, origin, region, 1024, 0, 512, 0,
                                 got, 0, NULL, NULL));
    must_be(memcmp(got, data, 4096) == 0, "the rectangle");
}

static void filled(void)
{
    fill(host.queue, in, 7, BYTES);
    read_back(host.queue, in, BYTES, got);
    must_be(got[0] == 7 && got[COUNT - 1] == 7, "the pattern");
}

static void parts_of_a_buffer(void)
{
    cl_mem part = region_of(in, CL_MEM_READ_WRITE, BYTES / 2, BYTES / 2);
    send(0, in);
    write_buffer(host.queue, part, BYTES / 2, data + COUNT / 2);
    add_one();
}

static void migrated_to_the_host(void)
{
    send(0, in);
    MUST(clEnqueueMigrateMemObjects(host.queue, 1, &in, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    MUST(clFinish(host.queue));
    add_one();
}

static void programs_in_turn(void)
{
    send(0, in);
    add(0, kernels[0], in, out, 1);
    add(0, kernels[1], out, in, 1);
    add(0, kernels[0], in, out, 1);
    receive(0, out, 3);
}

static void on_two_devices(void)
{
    send(0, in);
    add(0, kernels[0], in, out, 1);
    add(1, kernels[0], out, in, 1);
    receive(0, in, 2);
}

static void copied_between_devices(void)
{
    send(0, in);
    send(1, out);
    MUST(clEnqueueCopyBuffer(queues[1], in, out, 0, 0, BYTES, 0, NULL, NULL));
    receive(1, out, 0);
}

static void places_of_arguments(void)
{
    send(0, in);
    send(0, out);
    add(0, kernels[0], in, out, 1);
    add(0, kernels[0], in, out, 2);
    receive(0, out, 2);
    add(0, kernels[0], out, in, 1);
    receive(0, in, 3);
}

static void blocks_of_many_sizes(void)
{
    enum { MANY = 8 };
    cl_mem made[MANY];
    for (size_t round = 0; round < 3; round++)
        for (size_t i = round; i < MANY; i += round + 1) {
            if (round > 0)
                MUST(clReleaseMemObject(made[i]));
            made[i] = new_buffer(&host, 700 * (i + 1) * (3 - round));
            write_buffer(host.queue, made[i], 64, data);
        }
}

static void rows_that_touch(void)
{
    const size_t origin[3] = {0, 0, 0}, region[3] = {1024, 4, 2};
    MUST(clEnqueueWriteBufferRect(host.queue, in, CL_TRUE, origin, origin, region, 1024, 8192, 1024,
                                  4096, data, 0, NULL, NULL));
    MUST(clEnqueueReadBufferRect(host.queue, in, CL_TRUE, origin, origin, region, 1024, 8192, 1024,
                                 4096, got, 0, NULL, NULL));
    must_be(memcmp(got, data, 8192) == 0, "the rectangle");
}

static void parts_that_are_written_and_copied(void)
{
    MUST(clEnqueueWriteBuffer(host.queue, in, CL_TRUE, 100, 400, data, 0, NULL, NULL));
    MUST(clEnqueueCopyBuffer(host.queue, in, out, 100, 900, 400, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(host.queue, out, CL_TRUE, 900, 400, got, 0, NULL, NULL));
    must_be(memcmp(got, data, 400) == 0, "the part");
}

/* Unified shared memory */

static void launch_on_pointers(const void *from, void *to, cl_int number)
{
    MUST(set_pointer(kernels[0], 0, from));
    MUST(set_pointer(kernels[0], 1, to));
    set_argument(kernels[0], 2, sizeof number, &number);
    run(0, kernels[0]);
}

static void device_allocations(void)
{
    find_usm(&host);
    void *from = allocate(&host, DEVICE, BYTES), *to = allocate(&host, DEVICE, BYTES);
    MUST(mem_fill(host.queue, to, data, 16, BYTES, 0, NULL, NULL));
    copy_memory(&host, from, data, BYTES);
    launch_on_pointers(from, to, 1);
    copy_memory(&host, from, to, BYTES);
    copy_memory(&host, got, from, BYTES);
    expect(got, 1);
    MUST(blocking_free(host.context, from));
    MUST(blocking_free(host.context, to));
}

static void host_and_shared_allocations(void)
{
    find_usm(&host);
    cl_int *from = allocate(&host, HOST, BYTES), *to = allocate(&host, SHARED, BYTES);
    memcpy(from, data, BYTES);
    launch_on_pointers(from, to, 1);
    expect(to, 1);
    MUST(blocking_free(host.context, from));
    MUST(blocking_free(host.context, to));
}

#define NAMED(name) {#name, name}
static const struct part hosts[] = {
    NAMED(write_launch_read),
    NAMED(written_after_the_argument_was_set),
    NAMED(copied_host_memory),
    NAMED(copied_host_memory_read_first),
    NAMED(host_memory_in_place),
    NAMED(mapped),
    NAMED(mapped_and_overwritten),
    NAMED(rectangles),
    NAMED(filled),
    NAMED(parts_of_a_buffer),
    NAMED(migrated_to_the_host),
    NAMED(programs_in_turn),
    NAMED(on_two_devices),
    NAMED(copied_between_devices),
    NAMED(places_of_arguments),
    NAMED(blocks_of_many_sizes),
    NAMED(rows_that_touch),
    NAMED(parts_that_are_written_and_copied),
    NAMED(device_allocations),
    NAMED(host_and_shared_allocations),
};

int main(int count, char **words)
{
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        if (count == 4 && strcmp(words[1], hosts[i].name) == 0) {
            begin(words + 2);
            hosts[i].run();
            return 0;
        }
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        puts(hosts[i].name);
    return 2;
}
