/* SPDX-License-Identifier: Apache-2.0
 *
 * Links a program with each of the options that a linker may apply (OpenCL 3.0, 5.8.7.2). */
#include "../../conformance/c/host.h"

static const char *SOURCE = "kernel void add(global int *data) { data[get_global_id(0)] += 1; }\n";
static const char *const OPTIONS[] = {
    "-cl-denorms-are-zero", "-cl-no-signed-zeros",   "-cl-unsafe-math-optimizations",
    "-cl-finite-math-only", "-cl-fast-relaxed-math", "-cl-no-subgroup-ifp",
};

int main(void)
{
    struct host host;
    cl_int status;
    find_context(&host);
    cl_program part = new_source(&host, SOURCE);
    MUST(clCompileProgram(part, 1, &host.device, "", 0, NULL, NULL, NULL, NULL));
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++) {
        host.program =
            clLinkProgram(host.context, 1, &host.device, OPTIONS[i], 1, &part, NULL, NULL, &status);
        must(status, OPTIONS[i]);
        MUST(clReleaseKernel(new_kernel(&host, "add")));
        MUST(clReleaseProgram(host.program));
    }
    return 0;
}
