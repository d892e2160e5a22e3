/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks for the local memory of a kernel that has an array of 1,024 bytes there. */
#include "../../conformance/c/host.h"

static const char *SOURCE = "kernel void turn(global int *x)\n"
                            "{\n"
                            "    local int own[256];\n"
                            "    size_t i = get_local_id(0);\n"
                            "    own[i] = x[i];\n"
                            "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                            "    x[i] = own[get_local_size(0) - 1 - i];\n"
                            "}\n";

int main(void)
{
    struct host host;
    cl_ulong size;
    start(&host, SOURCE);
    MUST(clGetKernelWorkGroupInfo(new_kernel(&host, "turn"), host.device, CL_KERNEL_LOCAL_MEM_SIZE,
                                  sizeof size, &size, NULL));
    must_be(size == 1024, "the size is that of the array");
    return 0;
}
