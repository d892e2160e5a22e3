/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks for the size of sub-groups that a kernel requires, and for the size that it then has.
 * Ends with status 77 if the device does not let kernels require one. */
#include "../../conformance/c/host.h"
#include <CL/cl_ext.h>

enum { REQUIRED = 8 };

static const char *SOURCE = "__attribute__((intel_reqd_sub_group_size(8)))\n"
                            "kernel void count(global int *x) { x[0] = get_sub_group_size(); }\n";

int main(void)
{
    struct host host;
    const size_t items = 64;
    size_t size;
    char extensions[8192] = "";
    start(&host, SOURCE);
    MUST(clGetDeviceInfo(host.device, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL));
    if (strstr(extensions, "cl_intel_required_subgroup_size") == NULL)
        return 77;
    cl_kernel count = new_kernel(&host, "count");
    MUST(clGetKernelSubGroupInfo(count, host.device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
                                 sizeof items, &items, sizeof size, &size, NULL));
    must_be(size == REQUIRED, "the sub-groups of a launch have the required size");
    MUST(clGetKernelSubGroupInfo(count, host.device, CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL, 0,
                                 NULL, sizeof size, &size, NULL));
    must_be(size == REQUIRED, "the required size is the one in the source");
    return 0;
}
