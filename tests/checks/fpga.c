/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <CL/cl_ext_intelfpga.h>

/* finds: fpga: bank of an interleaved memory */
void bank_of_interleaved_memory(void)
{
    start(&host, "kernel void nothing(void) {}");
    const cl_mem_flags bank = fixed ? 0 : CL_CHANNEL_2_INTELFPGA;
    cl_mem buffer = new_buffer_with(host.context, CL_MEM_READ_WRITE | bank, SIZE, NULL);
    fill(host.queue, buffer, 1, SIZE);
    finish();
    clReleaseMemObject(buffer);
    stop(&host);
}

/* finds: fpga: compiled while the host runs
 *
 * A host for boards reads what was compiled before: words[2]. */
void compiles_while_running(void)
{
    if (!fixed) {
        start(&host, ADD_ONE);
        return;
    }
    size_t size;
    unsigned char *binary = file_contents(words[2], &size);
    find_context(&host);
    host.program = program_from(&host, binary, size);
}

/* finds: fpga: copied at creation for the first device
 * board: a10_ref,a10_ref */
void copy_host_ptr_of_several_devices(void)
{
    static cl_int data[COUNT];
    cl_device_id devices[2];
    find_second_device(devices);
    cl_mem buffer = fixed ? new_buffer(&host, SIZE) : buffer_with(&host, SIZE, data);
    if (fixed)
        write_buffer(host.queue, buffer, SIZE, data);
    finish();
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(host.queue);
    clReleaseContext(host.context);
}

static void launch_in(cl_kernel kernel, size_t offset, size_t count, const size_t *group)
{
    MUST(clEnqueueNDRangeKernel(host.queue, kernel, 1, &offset, &count, group, 0, NULL, NULL));
    finish();
}

/* finds: fpga: work-group that the .aocx does not have */
void global_offset(void)
{
    start(&host,
          "__attribute__((uses_global_work_offset(0))) kernel void add_one(global int *data)\n"
          "{ data[get_global_id(0)] += 1; }\n");
    launch_in(kernel_with("add_one", filled_buffer(SIZE)), fixed ? 0 : COUNT / 2, COUNT / 2, NULL);
}

#define SUMS(pragma)                                                                               \
    "kernel void sums(global int *data, int count)\n"                                              \
    "{\n" pragma "    for (int i = 1; i < count; i++) data[i] = data[i - 1] + data[i];\n"          \
    "}\n"

/* finds: fpga: ivdep on a dependence */
void ivdep_on_a_dependence(void)
{
    const cl_int count = COUNT;
    const size_t one = 1;
    start(&host, fixed ? SUMS("") : SUMS("    #pragma ivdep\n"));
    cl_kernel kernel = kernel_with("sums", filled_buffer(SIZE));
    set_argument(kernel, 1, sizeof count, &count);
    launch_in(kernel, 0, one, &one);
}

/* finds: fpga: pointer into another memory than the kernel's
 * board: two_memories.xml */
void pointer_into_other_memory(void)
{
    start_with_usm("kernel void set(global __attribute__((buffer_location(\"HBM\"))) int *data)\n"
                   "{ data[get_global_id(0)] = 1; }\n");
    cl_mem_properties_intel place[] = {CL_MEM_ALLOC_BUFFER_LOCATION_INTEL, fixed, 0};
    use_and_free("set", allocate_with(&host, DEVICE, place, SIZE, 0), 0, COUNT);
}

/* finds: fpga: pointer below the board's alignment */
void pointer_not_aligned(void)
{
    start_with_usm(ADD_ONE);
    char *memory = allocate(&host, DEVICE, 2 * SIZE);
    MUST(mem_fill(host.queue, memory, "", 1, 2 * SIZE, 0, NULL, NULL));
    use_and_free("add_one", memory, fixed ? 1024 : 64, COUNT);
}

/* finds: fpga: unified memory assumed
 * board: soc_a10 */
void unified_memory_assumed(void)
{
    static cl_int data[COUNT] __attribute__((aligned(4096)));
    start(&host, ADD_ONE);
    cl_mem buffer = new_buffer_with(host.context, CL_MEM_USE_HOST_PTR, SIZE, data);
    cl_kernel kernel = kernel_with("add_one", buffer);
    launch(host.queue, kernel, COUNT, NULL);
    finish();
    if (fixed)
        must_be(map_buffer(host.queue, buffer, CL_MAP_READ | CL_MAP_WRITE, 0, SIZE) == data,
                "the host's memory is mapped");
    data[0] = 100;
    if (fixed)
        unmap(buffer, data);
    launch(host.queue, kernel, COUNT, NULL);
    finish();
}

/* finds: fpga: work-group that the .aocx does not have */
void work_group_too_large(void)
{
    start(&host, "__attribute__((max_work_group_size(64))) kernel void add_one(global int *data)\n"
                 "{ data[get_global_id(0)] += 1; }\n");
    const size_t group = fixed ? 64 : 128;
    launch_in(kernel_with("add_one", filled_buffer(SIZE)), 0, COUNT, &group);
}
