/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: pointer that the device may not use
 * board: usm_s10,usm_s10 */
#include "check.h"

static void run(void)
{
    cl_device_id devices[2];
    cl_int status;
    const size_t count = COUNT;
    const char *source = ADD_ONE;
    find_device(&host);
    find_usm(&host);
    MUST(clGetDeviceIDs(host.platform, CL_DEVICE_TYPE_ALL, 2, devices, NULL));
    host.context = clCreateContext(NULL, 2, devices, NULL, NULL, &status);
    must(status, "clCreateContext");
    host.device = devices[1];
    host.queue = new_queue(&host);
    host.program = clCreateProgramWithSource(host.context, 1, &source, NULL, &status);
    MUST(clBuildProgram(host.program, 0, NULL, "", NULL, NULL));
    cl_kernel kernel = new_kernel(&host, "add_one");
    host.device = devices[fixed];
    void *data = device_memory(SIZE);
    must(set_pointer(kernel, 0, data), "clSetKernelArgMemPointerINTEL");
    status = clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL);
    must_be((status == CL_SUCCESS) == fixed, "the launch is refused if it is wrong");
    finish();
    must(mem_free(host.context, data), "clMemFreeINTEL");
}
