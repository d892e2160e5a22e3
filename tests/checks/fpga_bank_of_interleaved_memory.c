/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: fpga: bank of an interleaved memory */
#include "check.h"

#include <CL/cl_ext_intelfpga.h>

static void run(void)
{
    start(&host, "kernel void nothing(void) {}");
    cl_int status;
    const cl_mem_flags bank = fixed ? 0 : CL_CHANNEL_2_INTELFPGA;
    cl_mem buffer = clCreateBuffer(host.context, CL_MEM_READ_WRITE | bank, SIZE, NULL, &status);
    must(status, "clCreateBuffer");
    fill(host.queue, buffer, 1, SIZE);
    finish();
    clReleaseMemObject(buffer);
    stop(&host);
}
