/* SPDX-License-Identifier: Apache-2.0
 *
 * Two programs that stay on the board side by side: each has program-scope variables of its own,
 * which keep their values, and which the host reads by name. Failing calls are named in the log. */
#include "host.h"

#include <CL/cl_ext_intelfpga.h>

static struct host host;

static cl_int value_of(cl_program program, const char *name, cl_int *status)
{
    cl_int value = 0;
    *status = clEnqueueReadGlobalVariableINTEL(host.queue, program, name, CL_TRUE, sizeof value, 0,
                                               &value, 0, NULL, NULL);
    return value;
}

int main(void)
{
    start(&host, "global int v = 5; kernel void count(global int *o) { *o = v++; }");
    cl_program other = new_program(
        &host,
        "global int pad[9]; global int v = 100; kernel void down(global int *o) { *o = v--; }", "");
    cl_kernel kernels[] = {new_kernel(&host, "count"), kernel_in(other, "down")};
    cl_mem buffer = new_buffer(&host, sizeof(cl_int));
    cl_int status;
    for (cl_int turn = 0; turn < 6; turn++) {
        cl_int found;
        set_argument(kernels[turn % 2], 0, sizeof buffer, &buffer);
        launch(host.queue, kernels[turn % 2], 1, NULL);
        read_back(host.queue, buffer, sizeof found, &found);
        must_be(found == (turn % 2 ? 100 - turn / 2 : 5 + turn / 2), "its own variable");
    }
    must_be(value_of(host.program, "v", &status) == 8, "the variable of the first program");
    must_be(value_of(other, "v", &status) == 97, "the variable of the second program");
    value_of(other, "w", &status);
    must_be(status == CL_INVALID_ARG_VALUE, "a name that is none");
    clReleaseMemObject(buffer);
    clReleaseKernel(kernels[0]);
    clReleaseKernel(kernels[1]);
    clReleaseProgram(other);
    stop(&host);
    puts("ok");
    return 0;
}
