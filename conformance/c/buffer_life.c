/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of buffers as any OpenCL device gives it: deferred, mapped, filled, migrated, given to
 * kernels before and after they were written, on every device of the context in turn. What is in
 * them must be right whatever the driver moves. */
#include "host.h"

enum { COUNT = 5000, SIZE = COUNT * sizeof(cl_int), MOST_DEVICES = 8 };

static const char *const source =
    "kernel void scale(global int *data, int factor) { data[get_global_id(0)] *= factor; }\n"
    "kernel void sum(global const int *a, global const int *b, global int *c)\n"
    "{ size_t i = get_global_id(0); c[i] = a[i] + b[i]; }\n";

static cl_context context;
static cl_device_id devices[MOST_DEVICES];
static cl_command_queue queues[MOST_DEVICES];
static cl_uint device_count;
static cl_program program;
static cl_int data[COUNT], got[COUNT];

static void write_all(cl_command_queue queue, cl_mem buffer)
{
    write_buffer(queue, buffer, SIZE, data);
}

static void expect(cl_command_queue queue, cl_mem buffer, int factor, const char *what)
{
    memset(got, 0, SIZE);
    read_back(queue, buffer, SIZE, got);
    for (int i = 0; i < COUNT; i++)
        must_be(got[i] == factor * data[i], what);
}

static void scale(cl_command_queue queue, cl_kernel kernel, cl_mem buffer, cl_int factor)
{
    set_argument(kernel, 0, sizeof buffer, &buffer);
    set_argument(kernel, 1, sizeof factor, &factor);
    launch(queue, kernel, COUNT, NULL);
    MUST(clFinish(queue));
}

/* The order of the SYCL runtime, and the one that boards prefer. */
static void both_call_orders(void)
{
    for (cl_uint i = 0; i < device_count; i++) {
        for (int set_first = 1; set_first >= 0; set_first--) {
            cl_kernel kernel = kernel_in(program, "scale");
            cl_mem buffer = new_buffer_with(context, CL_MEM_READ_WRITE, SIZE, NULL);
            if (set_first)
                set_argument(kernel, 0, sizeof buffer, &buffer);
            write_all(queues[i], buffer);
            scale(queues[i], kernel, buffer, 3);
            expect(queues[i], buffer, 3, "both call orders give the same data");
            clReleaseMemObject(buffer);
            clReleaseKernel(kernel);
        }
    }
}

static void around_the_devices(void)
{
    cl_kernel kernel = kernel_in(program, "scale");
    cl_mem buffer = new_buffer_with(context, CL_MEM_READ_WRITE, SIZE, NULL);
    int factor = 1;
    write_all(queues[0], buffer);
    for (cl_uint round = 0; round < 2 * device_count + 1; round++) {
        cl_command_queue queue = queues[round % device_count];
        scale(queue, kernel, buffer, 2);
        factor *= 2;
        expect(queues[(round + 1) % device_count], buffer, factor, "contents follow the device");
    }
    for (cl_uint i = 0; i < device_count; i++) {
        must(clEnqueueMigrateMemObjects(queues[i], 1, &buffer, 0, 0, NULL, NULL), "migrate");
        MUST(clFinish(queues[i]));
        expect(queues[0], buffer, factor, "contents are kept when migrated to a device");
        MUST(clEnqueueMigrateMemObjects(queues[i], 1, &buffer, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL,
                                        NULL));
        MUST(clFinish(queues[i]));
        expect(queues[0], buffer, factor, "contents are kept when migrated to the host");
    }
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
}

static void host_pointers(void)
{
    static cl_int own[COUNT] __attribute__((aligned(4096)));
    cl_kernel kernel = kernel_in(program, "scale");
    cl_mem copied = new_buffer_with(context, CL_MEM_COPY_HOST_PTR, SIZE, data), used, allocated;
    expect(queues[device_count - 1], copied, 1, "CL_MEM_COPY_HOST_PTR copies");
    memcpy(own, data, SIZE);
    used = new_buffer_with(context, CL_MEM_USE_HOST_PTR, SIZE, own);
    scale(queues[0], kernel, used, 5);
    expect(queues[0], used, 5, "CL_MEM_USE_HOST_PTR brings its contents to the kernel");
    void *pointer = map_buffer(queues[0], used, CL_MAP_READ, 0, SIZE);
    must_be(pointer == own, "mapping CL_MEM_USE_HOST_PTR gives the host's own pointer");
    for (int i = 0; i < COUNT; i++)
        must_be(own[i] == 5 * data[i], "and the kernel's results are there");
    must(clEnqueueUnmapMemObject(queues[0], used, pointer, 0, NULL, NULL), "unmap");
    allocated = new_buffer_with(context, CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR, SIZE, data);
    scale(queues[0], kernel, allocated, 7);
    expect(queues[0], allocated, 7, "CL_MEM_ALLOC_HOST_PTR");
    MUST(clFinish(queues[0]));
    clReleaseMemObject(copied);
    clReleaseMemObject(used);
    clReleaseMemObject(allocated);
    clReleaseKernel(kernel);
}

static void mapping(void)
{
    enum { FIRST = 1000, PART = 500 };
    cl_uint count;
    cl_mem buffer = new_buffer_with(context, CL_MEM_READ_WRITE, SIZE, NULL);
    const size_t offset = FIRST * sizeof(cl_int), size = PART * sizeof(cl_int);
    write_all(queues[0], buffer);
    cl_int *window = map_buffer(queues[0], buffer, CL_MAP_READ | CL_MAP_WRITE, offset, size);
    must(clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof count, &count, NULL), "map count");
    must_be(count == 1, "CL_MEM_MAP_COUNT is 1 while mapped");
    for (int i = 0; i < PART; i++) {
        must_be(window[i] == data[FIRST + i], "the window shows the buffer");
        window[i] = data[FIRST + i] = -i;
    }
    must(clEnqueueUnmapMemObject(queues[0], buffer, window, 0, NULL, NULL), "unmap");
    expect(queues[0], buffer, 1, "what was written into the window is in the buffer");
    window = map_buffer(queues[0], buffer, CL_MAP_WRITE_INVALIDATE_REGION, offset, size);
    for (int i = 0; i < PART; i++)
        window[i] = data[FIRST + i] = i * i;
    must(clEnqueueUnmapMemObject(queues[0], buffer, window, 0, NULL, NULL), "unmap");
    expect(queues[0], buffer, 1, "an invalidating map writes its window and nothing else");
    clReleaseMemObject(buffer);
}

static void sub_buffers_alias(void)
{
    cl_uint alignment;
    cl_kernel kernel = kernel_in(program, "sum");
    cl_mem halves[2];
    MUST(clGetDeviceInfo(devices[0], CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof alignment, &alignment,
                         NULL));
    size_t size = alignment / 8;
    while (size < 1024)
        size *= 2;
    cl_mem parent = new_buffer_with(context, CL_MEM_READ_WRITE, 3 * size, NULL);
    fill(queues[0], parent, 1, 3 * size);
    for (int i = 0; i < 2; i++) {
        halves[i] = region_of(parent, CL_MEM_READ_WRITE, (size_t)i * size, size);
        fill(queues[0], halves[i], 10 * (i + 1), size);
        set_argument(kernel, (cl_uint)i, sizeof halves[i], &halves[i]);
    }
    cl_mem last = region_of(parent, 0, 2 * size, size);
    set_argument(kernel, 2, sizeof last, &last);
    launch(queues[0], kernel, size / sizeof(cl_int), NULL);
    cl_int third[3];
    for (int i = 0; i < 3; i++)
        MUST(clEnqueueReadBuffer(queues[0], parent, CL_TRUE, (size_t)i * size, sizeof third[i],
                                 &third[i], 0, NULL, NULL));
    must_be(third[0] == 10 && third[1] == 20 && third[2] == 30, "sub-buffers are their parent");
    clReleaseMemObject(last);
    clReleaseMemObject(halves[0]);
    clReleaseMemObject(halves[1]);
    clReleaseMemObject(parent);
    clReleaseKernel(kernel);
}

int main(void)
{
    struct host host;
    cl_int status;
    find_device(&host);
    MUST(clGetDeviceIDs(host.platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &device_count));
    context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
    must(status, "clCreateContext");
    for (cl_uint i = 0; i < device_count; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, devices[i], NULL, &status);
        must(status, "clCreateCommandQueueWithProperties");
    }
    program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &status);
    must(status, "clCreateProgramWithSource");
    MUST(clBuildProgram(program, device_count, devices, "", NULL, NULL));
    for (int i = 0; i < COUNT; i++)
        data[i] = i - COUNT / 2;
    both_call_orders();
    around_the_devices();
    host_pointers();
    mapping();
    sub_buffers_alias();
    MUST(clReleaseProgram(program));
    for (cl_uint i = 0; i < device_count; i++)
        MUST(clReleaseCommandQueue(queues[i]));
    MUST(clReleaseContext(context));
    puts("ok");
    return 0;
}
