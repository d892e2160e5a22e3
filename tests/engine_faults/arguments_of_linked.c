/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiles a kernel with -cl-kernel-arg-info, links it without options, and asks for the name of an
 * argument. */
#include "../../conformance/c/host.h"

static const char *SOURCE = "kernel void add(global int *data) { data[get_global_id(0)] += 1; }\n";

int main(void)
{
    struct host host;
    cl_int status;
    char name[16];
    find_context(&host);
    cl_program part = new_source(&host, SOURCE);
    MUST(clCompileProgram(part, 1, &host.device, "-cl-kernel-arg-info", 0, NULL, NULL, NULL, NULL));
    host.program = clLinkProgram(host.context, 1, &host.device, "", 1, &part, NULL, NULL, &status);
    must(status, "clLinkProgram");
    MUST(clGetKernelArgInfo(new_kernel(&host, "add"), 0, CL_KERNEL_ARG_NAME, sizeof name, name,
                            NULL));
    must_be(strcmp(name, "data") == 0, "the argument has its name");
    return 0;
}
