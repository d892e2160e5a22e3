/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: device memory accessed by the host */
#include "check.h"

static void run(void)
{
    start(&host, ADD_ONE);
    find_usm(&host);
    const cl_int seven = 7;
    cl_int *memory = device_memory(SIZE), got;
    must(mem_fill(host.queue, memory, &seven, sizeof seven, SIZE, 0, NULL, NULL), "fill");
    finish();
    if (fixed)
        must(mem_copy(host.queue, CL_TRUE, &got, memory + 3, sizeof got, 0, NULL, NULL), "copy");
    else
        got = memory[3];
    must_be(got == 7, "the check lets the program go on");
    must(mem_free(host.context, memory), "clMemFreeINTEL");
}
