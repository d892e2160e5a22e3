/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: use after free */
#include "check.h"

int main(int argc, char **argv)
{
    static cl_int data[COUNT];
    begin(argc, argv, ADD_ONE);
    find_usm(&host);
    void *memory = device_memory(SIZE);
    if (!fixed)
        must(mem_free(host.context, memory), "clMemFreeINTEL");
    must(mem_copy(host.queue, CL_TRUE, data, memory, SIZE, 0, NULL, NULL), "clEnqueueMemcpyINTEL");
    if (fixed)
        must(mem_free(host.context, memory), "clMemFreeINTEL");
    return 0;
}
