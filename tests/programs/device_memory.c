/* SPDX-License-Identifier: Apache-2.0
 *
 * A host that reads and writes device allocations itself, and handles the faults. It prints how
 * many there were, whether they were at the address that it used, and whether copies, fills and a
 * kernel still reach the memory. `plain`: it handles nothing. */
#define _GNU_SOURCE
#include "usm.h"

#include <setjmp.h>
#include <signal.h>

enum { COUNT = 1024, SIZE = COUNT * sizeof(cl_int) };

static const char source[] =
    "kernel void add(global int *data) { data[get_global_id(0)] += 1; }\n"
    "kernel void follow(global int *global *at) { at[0][get_global_id(0)] += 1; }\n";
static struct host host;
static sigjmp_buf back;
static volatile sig_atomic_t faults, at_address;
static volatile cl_int *volatile wanted;

static void handle(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    faults++;
    at_address += info->si_addr == (const void *)wanted;
    siglongjmp(back, 1);
}

static void touch(volatile cl_int *memory, int writes)
{
    wanted = memory;
    if (sigsetjmp(back, 1) != 0)
        return;
    if (writes)
        *memory = 99;
    else
        (void)*memory;
}

static void *device_memory(void)
{
    cl_int status;
    void *memory = device_alloc(host.context, host.device, NULL, SIZE, 0, &status);
    must(status, "clDeviceMemAllocINTEL");
    return memory;
}

/* What is in `memory`, copied to the host, is `first` and what follows. */
static void must_hold(void *memory, cl_int first)
{
    static cl_int found[COUNT];
    must(mem_copy(host.queue, CL_TRUE, found, memory, SIZE, 0, NULL, NULL), "copy from the device");
    for (int i = 0; i < COUNT; i++)
        must_be(found[i] == first + i, "the memory has what the commands wrote");
}

static void use_kernels(void *memory, void *other)
{
    cl_kernel add = new_kernel(&host, "add"), follow = new_kernel(&host, "follow");
    must(set_pointer(add, 0, memory), "clSetKernelArgMemPointerINTEL");
    launch(host.queue, add, COUNT, NULL);
    must_hold(memory, 1);
    must(mem_copy(host.queue, CL_TRUE, other, &memory, sizeof memory, 0, NULL, NULL), "a pointer");
    const cl_bool indirect = CL_TRUE;
    MUST(clSetKernelExecInfo(follow, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
                             sizeof indirect, &indirect));
    must(set_pointer(follow, 0, other), "clSetKernelArgMemPointerINTEL");
    launch(host.queue, follow, COUNT, NULL);
    must_hold(memory, 2);
}

/* A buffer has the same memory as device allocations. */
static void use_buffer(void)
{
    static cl_int found[COUNT];
    cl_mem buffer = new_buffer(&host, SIZE);
    fill(host.queue, buffer, 5, SIZE);
    read_back(host.queue, buffer, SIZE, found);
    must_be(found[COUNT - 1] == 5, "the buffer has the pattern");
    cl_int *mapped =
        clEnqueueMapBuffer(host.queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, SIZE, 0, NULL, NULL, NULL);
    mapped[0] = 6;
    must(clEnqueueUnmapMemObject(host.queue, buffer, mapped, 0, NULL, NULL), "unmap");
    read_back(host.queue, buffer, SIZE, found);
    must_be(found[0] == 6, "the buffer has what was mapped");
    clReleaseMemObject(buffer);
}

int main(int argc, char **argv)
{
    static cl_int data[COUNT];
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    int plain = argc > 1 && strcmp(argv[1], "plain") == 0;
    if (!plain) {
        struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
        sigaction(SIGSEGV, &action, NULL);
    }
    start(&host, source);
    find_usm(&host);
    cl_int *memory = device_memory(), *other = device_memory();
    must(mem_copy(host.queue, CL_TRUE, memory, data, SIZE, 0, NULL, NULL), "copy to the device");
    touch(memory, 0);
    touch(memory + 7, 1); /* the host's line */
    if (faults > 0)
        must_hold(memory, 0);
    must(mem_copy(host.queue, CL_TRUE, memory, data, SIZE, 0, NULL, NULL), "copy to the device");
    use_kernels(memory, other);
    use_buffer();
    must(mem_copy(host.queue, CL_TRUE, other, memory, SIZE, 0, NULL, NULL), "on the device");
    must_hold(other, 2);
    touch(other, 0);
    must(mem_free(host.context, memory), "clMemFreeINTEL");
    must(mem_free(host.context, other), "clMemFreeINTEL");
    printf("%d faults, %d at the address\n", (int)faults, (int)at_address);
    return 0;
}
