/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <sched.h>

/* finds: usm: use after free */
void argument_after_free(void)
{
    start_with_usm(ADD_ONE);
    void *memory = allocate(&host, HOST, SIZE);
    if (fixed) {
        use_and_free("add_one", memory, 0, COUNT);
        return;
    }
    MUST(blocking_free(host.context, memory));
    must_be(set_pointer(new_kernel(&host, "add_one"), 0, memory) == CL_INVALID_ARG_VALUE,
            "freed memory is refused");
}

/* finds: usm: use after free */
void command_after_free(void)
{
    static cl_int data[COUNT];
    start_with_usm(ADD_ONE);
    void *memory = allocate(&host, DEVICE, SIZE);
    if (!fixed)
        free_memory(&host, memory);
    cl_int status = mem_copy(host.queue, CL_TRUE, data, memory, SIZE, 0, NULL, NULL);
    must_be(status == (fixed ? CL_SUCCESS : CL_INVALID_VALUE), "memory that was freed is refused");
    if (fixed)
        free_memory(&host, memory);
}

/* finds: usm: device memory as host memory */
void device_memory_as_host_memory(void)
{
    start_with_usm(ADD_ONE);
    void *memory = fixed ? allocate(&host, HOST, SIZE) : allocate(&host, DEVICE, SIZE);
    read_back(host.queue, filled_buffer(SIZE), SIZE, memory);
    free_memory(&host, memory);
}

/* finds: usm: freed while in use */
void freed_while_in_use(void)
{
    start_with_usm(ADD_ONE);
    void *memory = allocate(&host, DEVICE, SIZE);
    cl_event gate = user_event(&host);
    const size_t count = COUNT;
    cl_kernel kernel = kernel_at(&host, "add_one", memory);
    MUST(clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &count, NULL, 1, &gate, NULL));
    if (!fixed)
        free_memory(&host, memory);
    MUST(clSetUserEventStatus(gate, fixed ? CL_COMPLETE : -1));
    if (fixed)
        MUST(blocking_free(host.context, memory));
    finish();
}

static cl_int *sevens(void)
{
    const cl_int seven = 7;
    cl_int *memory = allocate(&host, DEVICE, SIZE);
    MUST(mem_fill(host.queue, memory, &seven, sizeof seven, SIZE, 0, NULL, NULL));
    finish();
    return memory;
}

/* finds: usm: device memory accessed by the host */
void host_reads(void)
{
    start_with_usm(ADD_ONE);
    cl_int *memory = sevens(), got;
    if (fixed)
        copy_memory(&host, &got, memory + 3, sizeof got);
    else
        got = memory[3];
    must_be(got == 7, "the check lets the program go on");
    free_memory(&host, memory);
}

#define WAIT                                                                                       \
    "kernel void wait(global volatile int *x, global const int *in)\n"                             \
    "{\n"                                                                                          \
    "    x[2] = in[0];\n"                                                                          \
    "    atomic_xchg(&x[0], 1);\n"                                                                 \
    "    while (atomic_or(&x[1], 0) == 0);\n"                                                      \
    "}\n"

static cl_int *meeting;
static cl_kernel waiting;

/* The kernel has read in[0], and runs until end_waiting(). */
static void begin_waiting(const cl_int *in)
{
    waiting = kernel_at(&host, "wait", meeting);
    MUST(set_pointer(waiting, 1, in));
    launch(host.queue, waiting, 1, NULL);
    MUST(clFlush(host.queue));
    while (__atomic_load_n(&meeting[0], __ATOMIC_SEQ_CST) == 0)
        sched_yield();
}

static void end_waiting(void)
{
    __atomic_store_n(&meeting[1], 1, __ATOMIC_SEQ_CST);
    finish();
    MUST(clReleaseKernel(waiting));
}

static void start_with_meeting(void)
{
    start_with_usm(WAIT);
    meeting = allocate(&host, HOST, SIZE);
    memset(meeting, 0, SIZE);
}

/* finds: usm: device memory accessed by the host
 *
 * The kernel has no part in the memory, and runs until the host has read it. */
void host_reads_while_running(void)
{
    start_with_meeting();
    cl_int *memory = sevens(), got = 7;
    begin_waiting(meeting);
    if (!fixed)
        got = memory[3];
    end_waiting();
    must_be(got == 7, "the check lets the program go on");
    free_memory(&host, memory);
    free_memory(&host, meeting);
}

/* finds: usm: use after free */
void host_uses_freed(void)
{
    start_with_usm(ADD_ONE);
    volatile cl_int *memory = allocate(&host, HOST, SIZE);
    memory[1] = 1;
    if (fixed)
        memory[1] = 2;
    free_memory(&host, (void *)memory);
    if (!fixed)
        memory[1] = 2;
}

/* finds: usm: device memory accessed by the host */
void host_writes(void)
{
    static cl_int data[COUNT];
    start_with_usm(ADD_ONE);
    cl_int *memory = allocate(&host, DEVICE, SIZE);
    if (fixed)
        copy_memory(&host, memory, data, SIZE);
    else
        memset(memory, 0, SIZE);
    launch(host.queue, kernel_at(&host, "add_one", memory), COUNT, NULL);
    copy_memory(&host, data, memory, SIZE);
    for (int i = 0; i < COUNT; i++)
        must_be(data[i] == 1, "the kernel reaches the memory");
    free_memory(&host, memory);
}

/* finds: usm: access past the end
 *
 * The kernel follows a pointer: the check looks at what it wrote when that is freed. */
void indirect_little_past_end(void)
{
    start_with_usm("kernel void set(global ulong *where, int index)\n"
                   "{ ((global int *)where[0])[index] = 1; }\n");
    void *target = allocate(&host, DEVICE, 4000);
    cl_ulong *where = allocate(&host, DEVICE, SIZE), address = (cl_ulong)target;
    const cl_int index = fixed ? 999 : 1000;
    copy_memory(&host, where, &address, sizeof address);
    cl_kernel kernel = kernel_at(&host, "set", where);
    set_argument(kernel, 1, sizeof index, &index);
    announce_device_access(kernel);
    launch(host.queue, kernel, 1, NULL);
    finish();
    MUST(clReleaseKernel(kernel));
    free_memory(&host, target);
    free_memory(&host, where);
}

/* finds: usm: indirect access that was not announced */
void indirect_not_announced(void)
{
    start_with_usm("kernel void follow(global ulong *where, global int *out)\n"
                   "{ out[0] = ((global int *)where[0])[3]; }\n");
    cl_int *target = sevens(), *out = allocate(&host, DEVICE, SIZE), got;
    cl_ulong *where = allocate(&host, DEVICE, SIZE), address = (cl_ulong)target;
    copy_memory(&host, where, &address, sizeof address);
    cl_kernel kernel = kernel_at(&host, "follow", where);
    MUST(set_pointer(kernel, 1, out));
    if (fixed)
        announce_device_access(kernel);
    launch(host.queue, kernel, 1, NULL);
    copy_memory(&host, &got, out, sizeof got);
    must_be(got == 7, "the check lets the kernel go on");
    MUST(clReleaseKernel(kernel));
    free_memory(&host, target);
    free_memory(&host, where);
    free_memory(&host, out);
}

/* finds: usm: access past the end */
void kernel_past_end(void)
{
    start_with_usm(ADD_ONE);
    use_and_free("add_one", (char *)sevens(), 0, fixed ? COUNT : COUNT + 1);
}

/* finds: usm: use after free
 *
 * A list: the kernel follows a pointer that lies in memory. */
void kernel_uses_freed(void)
{
    start_with_usm("struct node { global struct node *next; int value; };\n"
                   "kernel void last(global struct node *node, global int *out)\n"
                   "{ while (node->next) node = node->next; *out = node->value; }\n");
    struct node {
        struct node *next;
        cl_int value;
    } first, second = {NULL, 5};
    struct node *head = allocate(&host, DEVICE, sizeof first),
                *tail = allocate(&host, DEVICE, sizeof second);
    cl_int *out = allocate(&host, HOST, sizeof *out);
    first = (struct node){tail, 4};
    copy_memory(&host, head, &first, sizeof first);
    copy_memory(&host, tail, &second, sizeof second);
    if (!fixed)
        free_memory(&host, tail);
    cl_kernel kernel = kernel_at(&host, "last", head);
    MUST(set_pointer(kernel, 1, out));
    announce_device_access(kernel);
    launch(host.queue, kernel, 1, NULL);
    finish();
    must_be(*out == 5, "the memory is still there");
    if (fixed)
        free_memory(&host, tail);
    free_memory(&host, head);
    free_memory(&host, out);
}

/* finds: usm: leak */
void leak(void)
{
    start_with_usm(ADD_ONE);
    void *memory = allocate(&host, HOST, SIZE);
    if (fixed)
        free_memory(&host, memory);
}

/* finds: usm: pointer that the device may not use
 * board: usm_s10,usm_s10 */
void other_device(void)
{
    cl_device_id devices[2];
    const size_t count = COUNT;
    find_second_device(devices);
    find_usm(&host);
    host.program = new_source(&host, ADD_ONE);
    MUST(clBuildProgram(host.program, 0, NULL, "", NULL, NULL));
    host.device = devices[fixed];
    void *data = allocate(&host, DEVICE, SIZE);
    cl_kernel kernel = kernel_at(&host, "add_one", data);
    cl_int status =
        clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL);
    must_be((status == CL_SUCCESS) == fixed, "the launch is refused if it is wrong");
    finish();
    free_memory(&host, data);
}

/* finds: usm: pointer that the device may not use */
void plain_argument(void)
{
    static cl_int data[COUNT];
    start_with_usm(ADD_ONE);
    if (fixed)
        use_and_free("add_one", allocate(&host, HOST, SIZE), 0, COUNT);
    else
        must_be(set_pointer(new_kernel(&host, "add_one"), 0, data) == CL_INVALID_ARG_VALUE,
                "plain memory is refused");
}

/* finds: usm: pointer that the device may not use */
void plain_pointer(void)
{
    start(&host, ADD_ONE);
    cl_int *data =
        fixed ? clSVMAlloc(host.context, CL_MEM_READ_WRITE, SIZE, 0) : aligned_alloc(1024, SIZE);
    must_be(data != NULL, "there is memory");
    cl_kernel kernel = new_kernel(&host, "add_one");
    MUST(clSetKernelArgSVMPointer(kernel, 0, data));
    launch(host.queue, kernel, COUNT, NULL);
    finish();
}

/* finds: usm: shared memory written while a kernel uses it
 *
 * The kernel runs until the host has written. */
void shared_written_in_use(void)
{
    start_with_meeting();
    cl_int *in = allocate(&host, SHARED, SIZE);
    in[0] = 7;
    begin_waiting(in);
    if (!fixed)
        in[0] = 8;
    end_waiting();
    in[0] = 8;
    must_be(meeting[2] == 7 && in[0] == 8, "the check lets the program go on");
    free_memory(&host, in);
    free_memory(&host, meeting);
}
