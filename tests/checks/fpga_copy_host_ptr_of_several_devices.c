/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: fpga: copied at creation for the first device
 * board: a10_ref,a10_ref */
#include "check.h"

static void run(void)
{
    static cl_int data[COUNT];
    cl_device_id devices[2];
    cl_int status;
    find_device(&host);
    MUST(clGetDeviceIDs(host.platform, CL_DEVICE_TYPE_ALL, 2, devices, NULL));
    host.context = clCreateContext(NULL, 2, devices, NULL, NULL, &status);
    must(status, "clCreateContext");
    host.device = devices[1];
    host.queue = new_queue(&host);
    const cl_mem_flags copied = fixed ? 0 : CL_MEM_COPY_HOST_PTR;
    cl_mem buffer = clCreateBuffer(host.context, CL_MEM_READ_WRITE | copied, SIZE,
                                   fixed ? NULL : data, &status);
    must(status, "clCreateBuffer");
    if (fixed)
        write_buffer(host.queue, buffer, SIZE, data);
    finish();
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(host.queue);
    clReleaseContext(host.context);
}
