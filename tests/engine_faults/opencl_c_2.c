/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a program with the option that CL/opencl.hpp has by default. */
#include "../../conformance/c/host.h"

static const char *SOURCE = "kernel void add(global int *data) { data[get_global_id(0)] += 1; }\n";

int main(void)
{
    struct host host;
    start(&host, SOURCE);
    must(clBuildProgram(host.program, 1, &host.device, "-cl-std=CL2.0", NULL, NULL),
         "clBuildProgram with -cl-std=CL2.0");
    stop(&host);
    return 0;
}
