/* SPDX-License-Identifier: Apache-2.0
 *
 * A linked list in coarse-grained SVM: the host links the nodes, a kernel walks the list through
 * the very same pointers and changes the values, the host sees that. Half of the nodes lie in one
 * allocation, half each in one of their own, which the kernel is told about. */
#include "host.h"

enum { TOGETHER = 64, ALONE = 64, NODES = TOGETHER + ALONE };

struct node {
    struct node *next;
    cl_ulong value;
};

static const char *const source = "struct node { global struct node *next; ulong value; };\n"
                                  "kernel void walk(global struct node *head, global ulong *sum)\n"
                                  "{\n"
                                  "    ulong total = 0;\n"
                                  "    for (global struct node *n = head; n != 0; n = n->next) {\n"
                                  "        total += n->value;\n"
                                  "        n->value *= 2;\n"
                                  "    }\n"
                                  "    *sum = total;\n"
                                  "}\n";

static struct node *allocate(struct host *host, size_t count)
{
    struct node *nodes = clSVMAlloc(host->context, CL_MEM_READ_WRITE, count * sizeof *nodes, 0);
    must_be(nodes != NULL, "clSVMAlloc gives memory");
    return nodes;
}

static void map(struct host *host, cl_map_flags flags, struct node *nodes, size_t count)
{
    MUST(clEnqueueSVMMap(host->queue, CL_TRUE, flags, nodes, count * sizeof *nodes, 0, NULL, NULL));
}

static void unmap(struct host *host, struct node *nodes)
{
    MUST(clEnqueueSVMUnmap(host->queue, nodes, 0, NULL, NULL));
}

int main(void)
{
    struct host host;
    struct node *nodes[NODES], *allocations[ALONE + 1];
    cl_ulong sum = 0, expected = 0;
    find_device_with_svm(&host);
    start(&host, source);
    allocations[ALONE] = allocate(&host, TOGETHER);
    map(&host, CL_MAP_WRITE, allocations[ALONE], TOGETHER);
    for (int i = 0; i < ALONE; i++) {
        allocations[i] = allocate(&host, 1);
        map(&host, CL_MAP_WRITE, allocations[i], 1);
        nodes[2 * i] = allocations[i];
        nodes[2 * i + 1] = &allocations[ALONE][TOGETHER - 1 - i];
    }
    for (int i = 0; i < NODES; i++) {
        nodes[i]->next = i + 1 < NODES ? nodes[i + 1] : NULL;
        nodes[i]->value = (cl_ulong)i + 1;
        expected += (cl_ulong)i + 1;
    }
    for (int i = 0; i <= ALONE; i++)
        unmap(&host, allocations[i]);
    cl_kernel walk = new_kernel(&host, "walk");
    cl_mem total = new_buffer(&host, sizeof sum);
    MUST(clSetKernelArgSVMPointer(walk, 0, nodes[0]));
    set_argument(walk, 1, sizeof total, &total);
    MUST(clSetKernelExecInfo(walk, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof allocations, allocations));
    launch(host.queue, walk, 1, NULL);
    read_back(host.queue, total, sizeof sum, &sum);
    must_be(sum == expected, "the kernel sees what the host wrote");
    for (int i = 0; i <= ALONE; i++)
        map(&host, CL_MAP_READ, allocations[i], i == ALONE ? TOGETHER : 1);
    for (int i = 0; i < NODES; i++)
        must_be(nodes[i]->value == 2 * ((cl_ulong)i + 1), "the host sees what the kernel wrote");
    for (int i = 0; i <= ALONE; i++)
        unmap(&host, allocations[i]);
    MUST(clFinish(host.queue));
    for (int i = 0; i <= ALONE; i++)
        clSVMFree(host.context, allocations[i]);
    MUST(clReleaseMemObject(total));
    MUST(clReleaseKernel(walk));
    stop(&host);
    puts("right");
    return 0;
}
