/* SPDX-License-Identifier: Apache-2.0
 *
 * Small hosts for boards, each about one way in which bytes get to a board, on it and back:
 * `board_traffic NAME FIRST.aocx SECOND.aocx`. conformance/original.py runs them on the original
 * runtime and on fpgart and compares what either asked of the board. The programs have a kernel
 * `add`: out[i] = in[i] + number. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 4096, BYTES = COUNT * sizeof(cl_int), MOST = 2 };

static cl_platform_id platform;
static cl_device_id devices[MOST];
static cl_uint device_count;
static cl_context context;
static cl_command_queue queues[MOST];
static cl_kernel kernels[2];
static cl_int data[COUNT], got[COUNT];

static void must(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: status %d\n", what, status);
    exit(1);
}

#define MUST(call) must(call, #call)

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
    static unsigned char contents[1 << 20];
    const unsigned char *each[MOST] = {contents, contents};
    size_t sizes[MOST];
    cl_int status;
    FILE *file = fopen(path, "rb");
    must(file == NULL, path);
    sizes[0] = sizes[1] = fread(contents, 1, sizeof contents, file);
    fclose(file);
    cl_program program =
        clCreateProgramWithBinary(context, device_count, devices, sizes, each, NULL, &status);
    must(status, "clCreateProgramWithBinary");
    MUST(clBuildProgram(program, device_count, devices, "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "add", &status);
    must(status, "clCreateKernel");
    MUST(clReleaseProgram(program));
    return kernel;
}

static void begin(char **files)
{
    cl_int status;
    MUST(clGetPlatformIDs(1, &platform, NULL));
    MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &device_count));
    context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
    must(status, "clCreateContext");
    for (cl_uint i = 0; i < device_count; i++) {
        queues[i] = clCreateCommandQueue(context, devices[i], 0, &status);
        must(status, "clCreateCommandQueue");
    }
    for (int i = 0; i < 2; i++)
        kernels[i] = load(files[i]);
    for (cl_int i = 0; i < COUNT; i++)
        data[i] = i;
}

static cl_mem buffer(cl_mem_flags flags, void *host)
{
    cl_int status;
    cl_mem made = clCreateBuffer(context, flags, BYTES, host, &status);
    must(status, "clCreateBuffer");
    return made;
}

static void send(int queue, cl_mem to)
{
    MUST(clEnqueueWriteBuffer(queues[queue], to, CL_TRUE, 0, BYTES, data, 0, NULL, NULL));
}

static void receive(int queue, cl_mem from, cl_int first)
{
    MUST(clEnqueueReadBuffer(queues[queue], from, CL_TRUE, 0, BYTES, got, 0, NULL, NULL));
    expect(got, first);
}

static void launch(int queue, cl_kernel kernel)
{
    const size_t whole = COUNT, group = 64;
    MUST(clEnqueueNDRangeKernel(queues[queue], kernel, 1, NULL, &whole, &group, 0, NULL, NULL));
    MUST(clFinish(queues[queue]));
}

static void add(int queue, cl_kernel kernel, cl_mem in, cl_mem out, cl_int number)
{
    MUST(clSetKernelArg(kernel, 0, sizeof in, &in));
    MUST(clSetKernelArg(kernel, 1, sizeof out, &out));
    MUST(clSetKernelArg(kernel, 2, sizeof number, &number));
    launch(queue, kernel);
}

/* The hosts */

static void write_launch_read(void)
{
    cl_mem in = buffer(CL_MEM_READ_ONLY, NULL), out = buffer(CL_MEM_READ_WRITE, NULL);
    send(0, in);
    add(0, kernels[0], in, out, 1);
    add(0, kernels[0], out, in, 1);
    receive(0, in, 2);
    MUST(clEnqueueCopyBuffer(queues[0], in, out, 0, 0, BYTES, 0, NULL, NULL));
    receive(0, out, 2);
}

static void written_after_the_argument_was_set(void)
{
    cl_mem in = buffer(CL_MEM_READ_ONLY, NULL), out = buffer(CL_MEM_READ_WRITE, NULL);
    MUST(clSetKernelArg(kernels[0], 0, sizeof in, &in));
    MUST(clSetKernelArg(kernels[0], 1, sizeof out, &out));
    send(0, in);
    add(0, kernels[0], in, out, 1);
    receive(0, out, 1);
}

static void copied_host_memory(void)
{
    cl_mem in = buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, data);
    cl_mem out = buffer(CL_MEM_READ_WRITE, NULL);
    add(0, kernels[0], in, out, 1);
    receive(0, out, 1);
}

static void copied_host_memory_read_first(void)
{
    cl_mem in = buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, data);
    cl_mem out = buffer(CL_MEM_READ_WRITE, NULL);
    receive(0, in, 0);
    add(0, kernels[0], in, out, 1);
    receive(0, out, 1);
}

static void host_memory_in_place(void)
{
    cl_int status;
    cl_mem in = buffer(CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, data);
    cl_mem out = buffer(CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, got);
    add(0, kernels[0], in, out, 1);
    cl_int *mapped =
        clEnqueueMapBuffer(queues[0], out, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &status);
    must(status, "clEnqueueMapBuffer");
    expect(mapped, 1);
    MUST(clEnqueueUnmapMemObject(queues[0], out, mapped, 0, NULL, NULL));
    MUST(clFinish(queues[0]));
}

static void mapped(void)
{
    cl_int status;
    cl_mem in = buffer(CL_MEM_READ_ONLY, NULL), out = buffer(CL_MEM_READ_WRITE, NULL);
    cl_int *numbers =
        clEnqueueMapBuffer(queues[0], in, CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &status);
    must(status, "clEnqueueMapBuffer");
    memcpy(numbers, data, BYTES);
    MUST(clEnqueueUnmapMemObject(queues[0], in, numbers, 0, NULL, NULL));
    add(0, kernels[0], in, out, 1);
    numbers =
        clEnqueueMapBuffer(queues[0], out, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &status);
    must(status, "clEnqueueMapBuffer");
    expect(numbers, 1);
    MUST(clEnqueueUnmapMemObject(queues[0], out, numbers, 0, NULL, NULL));
    MUST(clFinish(queues[0]));
}

static void mapped_and_overwritten(void)
{
    cl_int status;
    cl_mem in = buffer(CL_MEM_READ_ONLY, NULL), out = buffer(CL_MEM_READ_WRITE, NULL);
    cl_int *numbers = clEnqueueMapBuffer(queues[0], in, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0,
                                         BYTES, 0, NULL, NULL, &status);
    must(status, "clEnqueueMapBuffer");
    memcpy(numbers, data, BYTES);
    MUST(clEnqueueUnmapMemObject(queues[0], in, numbers, 0, NULL, NULL));
    add(0, kernels[0], in, out, 1);
    receive(0, out, 1);
}

static void rectangles(void)
{
    const size_t origin[3] = {0, 0, 0}, inner[3] = {256, 4, 0}, region[3] = {512, 8, 1};
    cl_mem in = buffer(CL_MEM_READ_WRITE, NULL), out = buffer(CL_MEM_READ_WRITE, NULL);
    send(0, in);
    MUST(clEnqueueWriteBufferRect(queues[0], in, CL_TRUE, inner, origin, region, 1024, 0, 512, 0,
                                  data, 0, NULL, NULL));
    MUST(clEnqueueCopyBufferRect(queues[0], in, out, inner, inner, region, 1024, 0, 1024, 0, 0,
                                 NULL, NULL));
    MUST(clEnqueueReadBufferRect(queues[0], out, CL_TRUE, inner, origin, region, 1024, 0, 512, 0,
                                 got, 0, NULL, NULL));
    must(memcmp(got, data, 4096), "the rectangle");
}

static void filled(void)
{
    const cl_int pattern = 7;
    cl_mem in = buffer(CL_MEM_READ_WRITE, NULL);
    MUST(clEnqueueFillBuffer(queues[0], in, &pattern, sizeof pattern, 0, BYTES, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queues[0], in, CL_TRUE, 0, BYTES, got, 0, NULL, NULL));
    must(got[0] != 7 || got[COUNT - 1] != 7, "the pattern");
}

static void parts_of_a_buffer(void)
{
    cl_int status;
    const cl_buffer_region half = {BYTES / 2, BYTES / 2};
    cl_mem whole = buffer(CL_MEM_READ_WRITE, NULL), out = buffer(CL_MEM_READ_WRITE, NULL);
    cl_mem part =
        clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, &status);
    must(status, "clCreateSubBuffer");
    send(0, whole);
    MUST(clEnqueueWriteBuffer(queues[0], part, CL_TRUE, 0, BYTES / 2, data + COUNT / 2, 0, NULL,
                              NULL));
    add(0, kernels[0], whole, out, 1);
    receive(0, out, 1);
}

static void migrated_to_the_host(void)
{
    cl_mem in = buffer(CL_MEM_READ_WRITE, NULL), out = buffer(CL_MEM_READ_WRITE, NULL);
    send(0, in);
    MUST(clEnqueueMigrateMemObjects(queues[0], 1, &in, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    MUST(clFinish(queues[0]));
    add(0, kernels[0], in, out, 1);
    receive(0, out, 1);
}

static void programs_in_turn(void)
{
    cl_mem in = buffer(CL_MEM_READ_WRITE, NULL), out = buffer(CL_MEM_READ_WRITE, NULL);
    send(0, in);
    add(0, kernels[0], in, out, 1);
    add(0, kernels[1], out, in, 1);
    add(0, kernels[0], in, out, 1);
    receive(0, out, 3);
}

static void on_two_devices(void)
{
    cl_mem in = buffer(CL_MEM_READ_WRITE, NULL), out = buffer(CL_MEM_READ_WRITE, NULL);
    send(0, in);
    add(0, kernels[0], in, out, 1);
    add(1, kernels[0], out, in, 1);
    receive(0, in, 2);
}

static void copied_between_devices(void)
{
    cl_mem in = buffer(CL_MEM_READ_WRITE, NULL), out = buffer(CL_MEM_READ_WRITE, NULL);
    send(0, in);
    send(1, out);
    MUST(clEnqueueCopyBuffer(queues[1], in, out, 0, 0, BYTES, 0, NULL, NULL));
    receive(1, out, 0);
}

static void places_of_arguments(void)
{
    cl_mem in = buffer(CL_MEM_READ_WRITE, NULL), out = buffer(CL_MEM_READ_WRITE, NULL);
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
    cl_int status;
    for (size_t round = 0; round < 3; round++)
        for (size_t i = round; i < MANY; i += round + 1) {
            if (round > 0)
                MUST(clReleaseMemObject(made[i]));
            made[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, 700 * (i + 1) * (3 - round), NULL,
                                     &status);
            must(status, "clCreateBuffer");
            MUST(clEnqueueWriteBuffer(queues[0], made[i], CL_TRUE, 0, 64, data, 0, NULL, NULL));
        }
}

static void rows_that_touch(void)
{
    const size_t origin[3] = {0, 0, 0}, region[3] = {1024, 4, 2};
    cl_mem in = buffer(CL_MEM_READ_WRITE, NULL);
    MUST(clEnqueueWriteBufferRect(queues[0], in, CL_TRUE, origin, origin, region, 1024, 8192, 1024,
                                  4096, data, 0, NULL, NULL));
    MUST(clEnqueueReadBufferRect(queues[0], in, CL_TRUE, origin, origin, region, 1024, 8192, 1024,
                                 4096, got, 0, NULL, NULL));
    must(memcmp(got, data, 8192), "the rectangle");
}

static void parts_that_are_written_and_copied(void)
{
    cl_mem in = buffer(CL_MEM_READ_WRITE, NULL), out = buffer(CL_MEM_READ_WRITE, NULL);
    MUST(clEnqueueWriteBuffer(queues[0], in, CL_TRUE, 100, 400, data, 0, NULL, NULL));
    MUST(clEnqueueCopyBuffer(queues[0], in, out, 100, 900, 400, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queues[0], out, CL_TRUE, 900, 400, got, 0, NULL, NULL));
    must(memcmp(got, data, 400), "the part");
}

/* Unified shared memory */

static void *extension(const char *name)
{
    void *found = clGetExtensionFunctionAddressForPlatform(platform, name);
    must(found == NULL, name);
    return found;
}

static void launch_on_pointers(const void *in, void *out, cl_int number)
{
    clSetKernelArgMemPointerINTEL_fn set =
        (clSetKernelArgMemPointerINTEL_fn)extension("clSetKernelArgMemPointerINTEL");
    MUST(set(kernels[0], 0, in));
    MUST(set(kernels[0], 1, out));
    MUST(clSetKernelArg(kernels[0], 2, sizeof number, &number));
    launch(0, kernels[0]);
}

static void device_allocations(void)
{
    cl_int status;
    clDeviceMemAllocINTEL_fn allocate =
        (clDeviceMemAllocINTEL_fn)extension("clDeviceMemAllocINTEL");
    clEnqueueMemcpyINTEL_fn copy = (clEnqueueMemcpyINTEL_fn)extension("clEnqueueMemcpyINTEL");
    clMemBlockingFreeINTEL_fn release =
        (clMemBlockingFreeINTEL_fn)extension("clMemBlockingFreeINTEL");
    void *in = allocate(context, devices[0], NULL, BYTES, 0, &status);
    must(status, "clDeviceMemAllocINTEL");
    void *out = allocate(context, devices[0], NULL, BYTES, 0, &status);
    must(status, "clDeviceMemAllocINTEL");
    clEnqueueMemFillINTEL_fn fill = (clEnqueueMemFillINTEL_fn)extension("clEnqueueMemFillINTEL");
    MUST(fill(queues[0], out, data, 16, BYTES, 0, NULL, NULL));
    MUST(copy(queues[0], CL_TRUE, in, data, BYTES, 0, NULL, NULL));
    launch_on_pointers(in, out, 1);
    MUST(copy(queues[0], CL_TRUE, in, out, BYTES, 0, NULL, NULL));
    MUST(copy(queues[0], CL_TRUE, got, in, BYTES, 0, NULL, NULL));
    expect(got, 1);
    MUST(release(context, in));
    MUST(release(context, out));
}

static void host_and_shared_allocations(void)
{
    cl_int status;
    clHostMemAllocINTEL_fn host = (clHostMemAllocINTEL_fn)extension("clHostMemAllocINTEL");
    clSharedMemAllocINTEL_fn shared = (clSharedMemAllocINTEL_fn)extension("clSharedMemAllocINTEL");
    clMemBlockingFreeINTEL_fn release =
        (clMemBlockingFreeINTEL_fn)extension("clMemBlockingFreeINTEL");
    cl_int *in = host(context, NULL, BYTES, 0, &status);
    must(status, "clHostMemAllocINTEL");
    cl_int *out = shared(context, devices[0], NULL, BYTES, 0, &status);
    must(status, "clSharedMemAllocINTEL");
    memcpy(in, data, BYTES);
    launch_on_pointers(in, out, 1);
    expect(out, 1);
    MUST(release(context, in));
    MUST(release(context, out));
}

#define HOST(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} hosts[] = {
    HOST(write_launch_read),
    HOST(written_after_the_argument_was_set),
    HOST(copied_host_memory),
    HOST(copied_host_memory_read_first),
    HOST(host_memory_in_place),
    HOST(mapped),
    HOST(mapped_and_overwritten),
    HOST(rectangles),
    HOST(filled),
    HOST(parts_of_a_buffer),
    HOST(migrated_to_the_host),
    HOST(programs_in_turn),
    HOST(on_two_devices),
    HOST(copied_between_devices),
    HOST(places_of_arguments),
    HOST(blocks_of_many_sizes),
    HOST(rows_that_touch),
    HOST(parts_that_are_written_and_copied),
    HOST(device_allocations),
    HOST(host_and_shared_allocations),
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
