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
