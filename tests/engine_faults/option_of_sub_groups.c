/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiles and builds a program with -cl-no-subgroup-ifp (OpenCL 3.0, 5.8.6.3). */
#include "../../conformance/c/host.h"

static const char *SOURCE = "kernel void add(global int *data) { data[get_global_id(0)] += 1; }\n";
static const char *const OPTION = "-cl-no-subgroup-ifp";

int main(void)
{
    struct host host;
    find_context(&host);
    MUST(clCompileProgram(new_source(&host, SOURCE), 1, &host.device, OPTION, 0, NULL, NULL, NULL,
                          NULL));
    MUST(clBuildProgram(new_source(&host, SOURCE), 1, &host.device, OPTION, NULL, NULL));
    return 0;
}
