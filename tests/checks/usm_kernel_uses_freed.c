/* SPDX-License-Identifier: Apache-2.0
 *
 * finds: usm: use after free
 *
 * A list: the kernel follows a pointer that lies in memory. */
#include "check.h"

static void run(void)
{
    start(&host, "struct node { global struct node *next; int value; };\n"
                 "kernel void last(global struct node *node, global int *out)\n"
                 "{ while (node->next) node = node->next; *out = node->value; }\n");
    find_usm(&host);
    struct node {
        struct node *next;
        cl_int value;
    } first, second = {NULL, 5};
    const cl_bool yes = CL_TRUE;
    struct node *head = device_memory(sizeof first), *tail = device_memory(sizeof second);
    cl_int *out = host_memory(sizeof *out);
    cl_kernel kernel = new_kernel(&host, "last");
    first = (struct node){tail, 4};
    must(mem_copy(host.queue, CL_TRUE, head, &first, sizeof first, 0, NULL, NULL), "copy");
    must(mem_copy(host.queue, CL_TRUE, tail, &second, sizeof second, 0, NULL, NULL), "copy");
    if (!fixed)
        must(mem_free(host.context, tail), "clMemFreeINTEL");
    must(set_pointer(kernel, 0, head), "clSetKernelArgMemPointerINTEL");
    must(set_pointer(kernel, 1, out), "clSetKernelArgMemPointerINTEL");
    MUST(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL, sizeof yes,
                             &yes));
    launch(host.queue, kernel, 1, NULL);
    finish();
    must_be(*out == 5, "the memory is still there");
    if (fixed)
        must(mem_free(host.context, tail), "clMemFreeINTEL");
    must(mem_free(host.context, head), "clMemFreeINTEL");
    must(mem_free(host.context, out), "clMemFreeINTEL");
}
