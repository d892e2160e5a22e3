/* SPDX-License-Identifier: Apache-2.0
 *
 * A list in unified shared memory: the host links nodes of a shared allocation, a kernel follows
 * the pointers and adds up into device memory. Nothing is mapped, and no list of allocations is
 * passed; only the sum is copied. */
#include "synopsis.h"

#include <CL/cl_ext.h>

enum { COUNT = 1000 };

struct node {
    struct node *next;
    cl_long value;
};

static const char *const source =
    "struct node { global struct node *next; long value; };\n"
    "kernel void walk(global struct node *head, global long *sum)\n"
    "{ long s = 0; for (global struct node *n = head; n; n = n->next) s += n->value; *sum = s; }\n";

static void find(const char *name, void *function)
{
    void *address = clGetExtensionFunctionAddressForPlatform(platform, name);
    check(address == NULL, name);
    memcpy(function, &address, sizeof address);
}

int main(void)
{
    clSharedMemAllocINTEL_fn shared_alloc;
    clDeviceMemAllocINTEL_fn device_alloc;
    clSetKernelArgMemPointerINTEL_fn set_pointer;
    clEnqueueMemcpyINTEL_fn copy;
    clMemFreeINTEL_fn release;
    const cl_bool yes = CL_TRUE;
    const size_t one = 1;
    cl_int status;
    cl_long found = 0, expected = 0;
    begin();
    find("clSharedMemAllocINTEL", &shared_alloc);
    find("clDeviceMemAllocINTEL", &device_alloc);
    find("clSetKernelArgMemPointerINTEL", &set_pointer);
    find("clEnqueueMemcpyINTEL", &copy);
    find("clMemFreeINTEL", &release);
    struct node *nodes =
        shared_alloc(context, device, NULL, COUNT * sizeof(struct node), 0, &status);
    check(status, "clSharedMemAllocINTEL");
    cl_long *sum = device_alloc(context, device, NULL, sizeof *sum, 0, &status);
    check(status, "clDeviceMemAllocINTEL");
    for (int i = 0; i < COUNT; i++) {
        nodes[i].value = i;
        nodes[i].next = i > 0 ? &nodes[i - 1] : NULL;
        expected += i;
    }
    cl_kernel kernel = kernel_of(source, "walk");
    check(set_pointer(kernel, 0, &nodes[COUNT - 1]), "clSetKernelArgMemPointerINTEL");
    check(set_pointer(kernel, 1, sum), "clSetKernelArgMemPointerINTEL");
    check(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL, sizeof yes,
                              &yes),
          "clSetKernelExecInfo");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL),
          "clEnqueueNDRangeKernel");
    check(copy(queue, CL_TRUE, &found, sum, sizeof found, 0, NULL, NULL), "clEnqueueMemcpyINTEL");
    check(release(context, nodes), "clMemFreeINTEL");
    check(release(context, sum), "clMemFreeINTEL");
    clReleaseKernel(kernel);
    return end(found != expected);
}
