/* SPDX-License-Identifier: Apache-2.0
 *
 * Unified shared memory at work: queries, copies between all kinds of memory, fills, kernels that
 * get pointers as arguments and find others in memory, freeing behind commands that still run, a
 * device that is full, and two devices. What a device does not support is left out. */
#include "usm.h"

enum { COUNT = 4096, SIZE = COUNT * sizeof(cl_int), NODES = 100 };

static const char *const source =
    "struct node { global struct node *next; int value; int pad; };\n"
    "kernel void scale(global int *x, int factor) { x[get_global_id(0)] *= factor; }\n"
    "kernel void sum(global const int *x, int count, global int *out)\n"
    "{ int s = 0; for (int i = 0; i < count; i++) s += x[i]; *out = s; }\n"
    "kernel void chain(global struct node *nodes, int count)\n"
    "{\n"
    "    for (int i = 0; i < count; i++) {\n"
    "        nodes[i].value = i * i;\n"
    "        nodes[i].next = i + 1 < count ? &nodes[i + 1] : 0;\n"
    "    }\n"
    "}\n"
    "kernel void walk(global struct node *head, global int *out)\n"
    "{ int s = 0; for (global struct node *n = head; n; n = n->next) s += n->value; *out = s; }\n"
    "struct box { ulong inside; };\n"
    "kernel void by_value(struct box box)\n"
    "{ ((global int *)box.inside)[get_global_id(0)] += 1; }\n"
    "kernel void spin(global uint *x, uint rounds)\n"
    "{ uint v = x[0]; for (uint i = 0; i < rounds; i++) v = v * 1664525u + 1013904223u; x[0] = v; "
    "}\n";

static struct host host;

static const cl_uint types[KINDS] = {CL_MEM_TYPE_HOST_INTEL, CL_MEM_TYPE_DEVICE_INTEL,
                                     CL_MEM_TYPE_SHARED_INTEL};

/* NULL if the device has no allocations of the kind. */
static void *allocate_if_supported(enum kind kind)
{
    cl_int status = CL_SUCCESS;
    void *pointer = try_to_allocate(&host, kind, NULL, SIZE, 0, &status);
    if (status == CL_INVALID_OPERATION)
        return NULL;
    must(status, "allocating");
    must_be(pointer != NULL, "an allocation has an address");
    return pointer;
}

static void queries(enum kind kind, size_t wanted)
{
    char *pointer = allocate(&host, kind, wanted);
    const char *inside[] = {pointer + 1, pointer, pointer + wanted - 1};
    void *base;
    cl_uint type;
    size_t size;
    cl_device_id device;
    cl_bitfield flags;
    int local;
    for (int i = 0; i < 3; i++) {
        ask_allocation(&host, inside[i], CL_MEM_ALLOC_TYPE_INTEL, sizeof type, &type);
        ask_allocation(&host, inside[i], CL_MEM_ALLOC_BASE_PTR_INTEL, sizeof base, &base);
        ask_allocation(&host, inside[i], CL_MEM_ALLOC_SIZE_INTEL, sizeof size, &size);
        ask_allocation(&host, inside[i], CL_MEM_ALLOC_DEVICE_INTEL, sizeof device, &device);
        ask_allocation(&host, inside[i], CL_MEM_ALLOC_FLAGS_INTEL, sizeof flags, &flags);
        must_be(type == types[kind] && base == pointer && size >= wanted && flags == 0,
                "the answers about an allocation");
        must_be(device == (kind == HOST ? NULL : host.device), "its device");
    }
    ask_allocation(&host, &local, CL_MEM_ALLOC_TYPE_INTEL, sizeof type, &type);
    ask_allocation(&host, &local, CL_MEM_ALLOC_BASE_PTR_INTEL, sizeof base, &base);
    ask_allocation(&host, &local, CL_MEM_ALLOC_SIZE_INTEL, sizeof size, &size);
    must_be(type == CL_MEM_TYPE_UNKNOWN_INTEL && base == NULL && size == 0,
            "memory of the host's own is unknown");
    free_memory(&host, pointer);
    ask_allocation(&host, pointer, CL_MEM_ALLOC_TYPE_INTEL, sizeof type, &type);
    must_be(type == CL_MEM_TYPE_UNKNOWN_INTEL, "freed memory is unknown");
}

static void copies(void *allocations[KINDS])
{
    static cl_int data[COUNT], got[COUNT];
    cl_event event;
    cl_command_type type;
    for (int from = 0; from < KINDS; from++) {
        for (int to = 0; to < KINDS; to++) {
            void *target;
            if (allocations[from] == NULL || allocations[to] == NULL)
                continue;
            target = allocate(&host, (enum kind)to, SIZE);
            for (int i = 0; i < COUNT; i++)
                data[i] = i * 7 + from * 3 + to;
            copy_memory(&host, allocations[from], data, SIZE);
            MUST(mem_copy(host.queue, CL_FALSE, target, allocations[from], SIZE, 0, NULL, &event));
            MUST(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
            must_be(type == CL_COMMAND_MEMCPY_INTEL, "the type of a copy");
            MUST(mem_copy(host.queue, CL_TRUE, got, target, SIZE, 1, &event, NULL));
            must_be(memcmp(got, data, SIZE) == 0, "every kind is copied to every kind");
            clReleaseEvent(event);
            free_memory(&host, target);
        }
    }
}

static void out_of_order(void *allocations[KINDS])
{
    const cl_command_queue in_order = host.queue;
    cl_event event;
    cl_int value = 99, got = 0;
    host.queue = new_queue_with(&host, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    copies(allocations);
    MUST(mem_fill(host.queue, allocations[DEVICE], &value, 4, SIZE, 0, NULL, &event));
    MUST(mem_copy(host.queue, CL_TRUE, &got, allocations[DEVICE], 4, 1, &event, NULL));
    must_be(got == value, "a copy waits for the fill in its wait list");
    clReleaseEvent(event);
    clReleaseCommandQueue(host.queue);
    host.queue = in_order;
}

static void fills(void *allocation)
{
    static unsigned char got[SIZE], pattern[128];
    for (int i = 0; i < 128; i++)
        pattern[i] = (unsigned char)(i + 1);
    for (size_t size = 1; size <= 128; size *= 2) {
        MUST(mem_fill(host.queue, (char *)allocation + size, pattern, size, SIZE - 2 * size, 0,
                      NULL, NULL));
        copy_memory(&host, got, allocation, SIZE);
        for (size_t i = size; i < SIZE - size; i++)
            must_be(got[i] == pattern[i % size], "a fill repeats its pattern");
    }
}

static void in_place(enum kind kind)
{
    cl_int *data = allocate_if_supported(kind), factor = 3;
    if (data == NULL)
        return;
    cl_kernel kernel = kernel_at(&host, "scale", data);
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    set_argument(kernel, 1, sizeof factor, &factor);
    launch(host.queue, kernel, COUNT, NULL);
    MUST(set_pointer(kernel, 0, data + COUNT / 2));
    launch(host.queue, kernel, COUNT / 2, NULL);
    MUST(clFinish(host.queue));
    for (int i = 0; i < COUNT; i++)
        must_be(data[i] == i * (i < COUNT / 2 ? 3 : 9), "a kernel works in the host's sight");
    free_memory(&host, data);
    clReleaseKernel(kernel);
}

static void reduction(void *result_memory)
{
    cl_int *data = allocate_if_supported(HOST), count = COUNT, got, expected = 0;
    if (data == NULL)
        return;
    for (int i = 0; i < COUNT; i++)
        expected += data[i] = i % 17;
    cl_kernel kernel = kernel_at(&host, "sum", data);
    set_argument(kernel, 1, sizeof count, &count);
    MUST(set_pointer(kernel, 2, result_memory));
    launch(host.queue, kernel, 1, NULL);
    copy_memory(&host, &got, result_memory, sizeof got);
    must_be(got == expected, "a kernel reads the host's memory in place");
    free_memory(&host, data);
    clReleaseKernel(kernel);
}

static void indirect(void)
{
    char *nodes = allocate(&host, DEVICE, NODES * 16), *result = allocate(&host, DEVICE, SIZE);
    void *listed[] = {nodes, result};
    cl_int count = NODES, got = 0, expected = 0;
    cl_kernel make = kernel_at(&host, "chain", nodes), walk = kernel_at(&host, "walk", nodes),
              boxed = new_kernel(&host, "by_value");
    set_argument(make, 1, sizeof count, &count);
    launch(host.queue, make, 1, NULL);
    announce_device_access(walk);
    MUST(clSetKernelExecInfo(walk, CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, sizeof listed, listed));
    MUST(set_pointer(walk, 1, result));
    launch(host.queue, walk, 1, NULL);
    copy_memory(&host, &got, result, sizeof got);
    for (int i = 0; i < NODES; i++)
        expected += i * i;
    must_be(got == expected, "a list made by one kernel is walked by the next");
    MUST(mem_fill(host.queue, result, &(cl_int){5}, 4, SIZE, 0, NULL, NULL));
    set_argument(boxed, 0, sizeof result, &result);
    announce_device_access(boxed);
    launch(host.queue, boxed, COUNT, NULL);
    copy_memory(&host, &got, result + SIZE - 4, sizeof got);
    must_be(got == 6, "a pointer inside a struct that is passed by value");
    free_memory(&host, nodes);
    free_memory(&host, result);
    clReleaseKernel(make);
    clReleaseKernel(walk);
    clReleaseKernel(boxed);
}

/* Where pointers are the board's addresses, kernels here cannot follow those that are in memory. */
static void indirect_is_refused(void)
{
    const size_t one = 1;
    cl_uint rounds = 1;
    char *memory = allocate(&host, DEVICE, SIZE);
    cl_kernel kernel = kernel_at(&host, "spin", memory);
    set_argument(kernel, 1, sizeof rounds, &rounds);
    announce_device_access(kernel);
    must_be(clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL) ==
                CL_INVALID_OPERATION,
            "a launch that may find encoded pointers in memory");
    free_memory(&host, memory);
    clReleaseKernel(kernel);
}

/* An argument of the kernel, one of its set, or an allocation of the kind that it may reach. */
static void free_waits(bool encoded)
{
    enum { ARGUMENT, OF_THE_SET, OF_THE_KIND, WAYS };
    cl_uint rounds = 20000000;
    cl_command_queue queue = new_queue(&host);
    for (int way = ARGUMENT; way < (encoded ? OF_THE_SET : WAYS); way++) {
        cl_event event;
        char *memory = allocate(&host, DEVICE, 4096), *other = allocate(&host, DEVICE, 4096);
        cl_kernel kernel = kernel_at(&host, "spin", other);
        set_argument(kernel, 1, sizeof rounds, &rounds);
        if (way == OF_THE_SET)
            MUST(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, sizeof memory,
                                     &memory));
        if (way == OF_THE_KIND)
            announce_device_access(kernel);
        launch(queue, kernel, 1, &event);
        MUST(clFlush(queue));
        MUST(blocking_free(host.context, way == ARGUMENT ? other : memory));
        must_be(status_of(event) == CL_COMPLETE,
                "a blocking free waits for those that may use the memory");
        free_memory(&host, way == ARGUMENT ? memory : other);
        clReleaseEvent(event);
        clReleaseKernel(kernel);
    }
    clReleaseCommandQueue(queue);
}

/* Room that buffers have is not there for allocations, and the other way round. */
static void full_device(void)
{
    enum { MOST = 64 };
    cl_ulong total;
    cl_int status = CL_SUCCESS, value = 1;
    void *parts[MOST];
    int count = 0;
    must(clGetDeviceInfo(host.device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof total, &total, NULL),
         "CL_DEVICE_GLOBAL_MEM_SIZE");
    while (status == CL_SUCCESS && count < MOST) {
        parts[count] = device_alloc(host.context, host.device, NULL, total / 8, 0, &status);
        count += status == CL_SUCCESS;
    }
    must_be(status == CL_OUT_OF_RESOURCES, "a full device");
    cl_mem buffer = new_buffer(&host, total / 8);
    must_be(clEnqueueWriteBuffer(host.queue, buffer, CL_TRUE, 0, 4, &value, 0, NULL, NULL) ==
                CL_MEM_OBJECT_ALLOCATION_FAILURE,
            "a buffer finds no room either");
    free_memory(&host, parts[--count]);
    write_buffer(host.queue, buffer, 4, &value);
    clReleaseMemObject(buffer);
    while (count > 0)
        free_memory(&host, parts[--count]);
}

static void two_devices(cl_device_id second)
{
    cl_device_id devices[] = {host.device, second};
    cl_int status, got = 0, value = 1234;
    cl_context context = clCreateContext(NULL, 2, devices, NULL, NULL, &status);
    must(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, second, NULL, &status);
    must(status, "clCreateCommandQueueWithProperties");
    char *first = device_alloc(context, host.device, NULL, SIZE, 0, &status);
    must(status, "clDeviceMemAllocINTEL");
    char *other = device_alloc(context, second, NULL, SIZE, 0, &status);
    must(status, "clDeviceMemAllocINTEL");
    MUST(mem_fill(queue, other, &value, 4, SIZE, 0, NULL, NULL));
    MUST(mem_copy(queue, CL_TRUE, first, other, SIZE, 0, NULL, NULL));
    MUST(mem_copy(queue, CL_TRUE, &got, first + SIZE - 4, 4, 0, NULL, NULL));
    must_be(got == value, "what was copied between two devices");
    MUST(mem_free(context, first));
    MUST(mem_free(context, other));
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

int main(int count, char **words)
{
    void *allocations[KINDS];
    cl_device_id devices[2] = {NULL, NULL};
    cl_uint found;
    const bool encoded = count > 1 && strcmp(words[1], "encoded") == 0;
    const bool fills_up = count > 1 && strcmp(words[1], "full") == 0;
    start(&host, source);
    find_usm(&host);
    for (int kind = 0; kind < KINDS; kind++) {
        allocations[kind] = allocate_if_supported((enum kind)kind);
        if (allocations[kind] != NULL) {
            queries((enum kind)kind, 1000);
            queries((enum kind)kind, 3000);
            fills(allocations[kind]);
        }
    }
    copies(allocations);
    out_of_order(allocations);
    in_place(SHARED);
    in_place(HOST);
    reduction(allocations[DEVICE]);
    if (encoded)
        indirect_is_refused();
    else
        indirect();
    free_waits(encoded);
    MUST(clGetDeviceIDs(host.platform, CL_DEVICE_TYPE_ALL, 2, devices, &found));
    if (found > 1)
        two_devices(devices[1]);
    for (int kind = 0; kind < KINDS; kind++)
        MUST(mem_free(host.context, allocations[kind]));
    if (fills_up)
        full_device();
    stop(&host);
    puts("ok");
    return 0;
}
