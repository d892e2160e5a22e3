/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of cl_intel_unified_shared_memory, found by their names, for the hosts that use it.
 */
#pragma once

#include "host.h"

#include <CL/cl_ext.h>

static clHostMemAllocINTEL_fn host_alloc;
static clDeviceMemAllocINTEL_fn device_alloc;
static clSharedMemAllocINTEL_fn shared_alloc;
static clMemFreeINTEL_fn mem_free;
static clMemBlockingFreeINTEL_fn blocking_free;
static clGetMemAllocInfoINTEL_fn alloc_info;
static clSetKernelArgMemPointerINTEL_fn set_pointer;
static clEnqueueMemFillINTEL_fn mem_fill;
static clEnqueueMemcpyINTEL_fn mem_copy;
static clEnqueueMigrateMemINTEL_fn migrate;
static clEnqueueMemAdviseINTEL_fn advise;

/* A function by its name. */
HOST_FUNCTION void find_function(cl_platform_id platform, const char *name, void *function)
{
    void *address = clGetExtensionFunctionAddressForPlatform(platform, name);
    must_be(address != NULL, name);
    memcpy(function, &address, sizeof address);
}

HOST_FUNCTION cl_bitfield capabilities(cl_device_id device, cl_device_info query)
{
    cl_bitfield found = 0;
    if (clGetDeviceInfo(device, query, sizeof found, &found, NULL) != CL_SUCCESS)
        return 0;
    return found;
}

/* A program whose device lacks the extension ends with "not supported". */
HOST_FUNCTION void find_usm(struct host *host)
{
    char extensions[8192] = "";
    must(clGetDeviceInfo(host->device, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL),
         "CL_DEVICE_EXTENSIONS");
    if (strstr(extensions, "cl_intel_unified_shared_memory") == NULL) {
        puts("the device has no cl_intel_unified_shared_memory");
        exit(NOT_SUPPORTED);
    }
    find_function(host->platform, "clHostMemAllocINTEL", &host_alloc);
    find_function(host->platform, "clDeviceMemAllocINTEL", &device_alloc);
    find_function(host->platform, "clSharedMemAllocINTEL", &shared_alloc);
    find_function(host->platform, "clMemFreeINTEL", &mem_free);
    find_function(host->platform, "clMemBlockingFreeINTEL", &blocking_free);
    find_function(host->platform, "clGetMemAllocInfoINTEL", &alloc_info);
    find_function(host->platform, "clSetKernelArgMemPointerINTEL", &set_pointer);
    find_function(host->platform, "clEnqueueMemFillINTEL", &mem_fill);
    find_function(host->platform, "clEnqueueMemcpyINTEL", &mem_copy);
    find_function(host->platform, "clEnqueueMigrateMemINTEL", &migrate);
    find_function(host->platform, "clEnqueueMemAdviseINTEL", &advise);
}

enum kind { HOST, DEVICE, SHARED, KINDS };

HOST_FUNCTION void *try_to_allocate(struct host *host, enum kind kind,
                                    const cl_mem_properties_intel *properties, size_t size,
                                    cl_uint alignment, cl_int *status)
{
    if (kind == HOST)
        return host_alloc(host->context, properties, size, alignment, status);
    return (kind == DEVICE ? device_alloc : shared_alloc)(host->context, host->device, properties,
                                                          size, alignment, status);
}

HOST_FUNCTION void *allocate_with(struct host *host, enum kind kind,
                                  const cl_mem_properties_intel *properties, size_t size,
                                  cl_uint alignment)
{
    cl_int status = 12345;
    void *pointer = try_to_allocate(host, kind, properties, size, alignment, &status);
    must(status, "allocating");
    must_be(pointer != NULL, "an allocation has an address");
    return pointer;
}

HOST_FUNCTION void *allocate(struct host *host, enum kind kind, size_t size)
{
    return allocate_with(host, kind, NULL, size, 0);
}

HOST_FUNCTION void free_memory(struct host *host, void *memory)
{
    MUST(mem_free(host->context, memory));
}

HOST_FUNCTION void copy_memory(struct host *host, void *to, const void *from, size_t size)
{
    MUST(mem_copy(host->queue, CL_TRUE, to, from, size, 0, NULL, NULL));
}

/* An answer about the allocation in which a pointer lies. */
HOST_FUNCTION void ask_allocation(struct host *host, const void *pointer, cl_mem_info_intel query,
                                  size_t size, void *answer)
{
    MUST(alloc_info(host->context, pointer, query, size, answer, NULL));
}

/* A kernel whose first argument is a pointer. */
HOST_FUNCTION cl_kernel kernel_at(struct host *host, const char *name, const void *pointer)
{
    cl_kernel kernel = new_kernel(host, name);
    MUST(set_pointer(kernel, 0, pointer));
    return kernel;
}

HOST_FUNCTION void switch_access(cl_kernel kernel, cl_kernel_exec_info kind, cl_bool is_on)
{
    MUST(clSetKernelExecInfo(kernel, kind, sizeof is_on, &is_on));
}

/* The kernel may find pointers to device allocations in memory. */
HOST_FUNCTION void announce_device_access(cl_kernel kernel)
{
    switch_access(kernel, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL, CL_TRUE);
}
