/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel runs with work-groups as large as CL_KERNEL_WORK_GROUP_SIZE says, and larger ones are
 * refused: for a kernel that knows nothing of its group, and for one whose work-items wait for each
 * other. */
#include "host.h"

static struct host host;
static const char *source = "kernel void plain(global int *x)\n"
                            "{ size_t i = get_global_id(0); x[i] = 3 * (int)i; }\n"
                            "kernel void waits(global int *x, local int *all)\n"
                            "{ size_t i = get_local_id(0), n = get_local_size(0);\n"
                            "  all[i] = 3 * (int)get_global_id(0);\n"
                            "  barrier(CLK_LOCAL_MEM_FENCE);\n"
                            "  x[get_global_id(0) - i + (i + 1) % n] = all[(i + 1) % n]; }\n";

enum { MOST = 1 << 15, GROUPS = 3 };

static size_t largest(cl_kernel kernel)
{
    size_t size;
    MUST(clGetKernelWorkGroupInfo(kernel, host.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof size,
                                  &size, NULL));
    return size;
}

static void runs(cl_kernel kernel, size_t local, bool has_local_memory)
{
    const size_t count = local * GROUPS;
    cl_mem buffer = new_buffer(&host, count * sizeof(cl_int));
    cl_int *got = malloc(count * sizeof *got);
    set_argument(kernel, 0, sizeof buffer, &buffer);
    if (has_local_memory)
        set_argument(kernel, 1, local * sizeof(cl_int), NULL);
    MUST(clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &count, &local, 0, NULL, NULL));
    read_back(host.queue, buffer, count * sizeof *got, got);
    for (size_t i = 0; i < count; i++)
        must_be(got[i] == 3 * (cl_int)i, "the kernel's result");
    free(got);
    clReleaseMemObject(buffer);
}

static void is_refused(cl_kernel kernel, size_t local)
{
    cl_int status =
        clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &local, &local, 0, NULL, NULL);
    must_be(status == CL_INVALID_WORK_GROUP_SIZE || status == CL_INVALID_WORK_ITEM_SIZE,
            "a group above CL_KERNEL_WORK_GROUP_SIZE is refused");
}

int main(void)
{
    start(&host, source);
    for (int waits = 0; waits < 2; waits++) {
        cl_kernel kernel = new_kernel(&host, waits ? "waits" : "plain");
        size_t most = largest(kernel);
        runs(kernel, most < MOST ? most : MOST, waits);
        is_refused(kernel, most + 1);
        clReleaseKernel(kernel);
    }
    stop(&host);
    puts("ok");
    return 0;
}
