/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: pointer that the device may not use */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    cl_int *data =
        fixed ? clSVMAlloc(host.context, CL_MEM_READ_WRITE, SIZE, 0) : aligned_alloc(1024, SIZE);
    must_be(data != NULL, "there is memory");
    cl_kernel kernel = new_kernel(&host, "add_one");
    MUST(clSetKernelArgSVMPointer(kernel, 0, data));
    launch(host.queue, kernel, COUNT, NULL);
    finish();
}
