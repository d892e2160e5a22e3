/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine that is another one, the driver that WRAPPED_ENGINE names, some of whose functions
 * wrap() replaces. REFUSED, if it is defined, is the status of the search for platforms. */
#pragma once
#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef REFUSED
#define REFUSED CL_SUCCESS
#endif

/* Called once, with the functions of the other driver. */
static void wrap(struct _cl_icd_dispatch *table);

static void *wrapped;

/* With this library, so that the engine's calls of getenv() are those of an engine. */
__attribute__((constructor)) static void open_wrapped(void)
{
    wrapped = dlopen(getenv("WRAPPED_ENGINE"), RTLD_NOW | RTLD_LOCAL);
}

cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *count)
{
    static int is_wrapped;
    void *(*look_up)(const char *) = NULL;
    cl_int (*get)(cl_uint, cl_platform_id *, cl_uint *) = NULL;
    void *found = wrapped != NULL ? dlsym(wrapped, "clGetExtensionFunctionAddress") : NULL;
    memcpy(&look_up, &found, sizeof look_up);
    found = look_up != NULL ? look_up("clIcdGetPlatformIDsKHR") : NULL;
    memcpy(&get, &found, sizeof get);
    cl_int status = REFUSED;
    if (status != CL_SUCCESS || get == NULL)
        return status != CL_SUCCESS ? status : CL_INVALID_PLATFORM;
    status = get(room, platforms, count);
    if (status != CL_SUCCESS || platforms == NULL || is_wrapped)
        return status;
    struct _cl_icd_dispatch *table = *(struct _cl_icd_dispatch **)platforms[0];
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)table & ~(page - 1);
    mprotect((void *)begin, (uintptr_t)(table + 1) - begin, PROT_READ | PROT_WRITE);
    wrap(table);
    is_wrapped = 1;
    return status;
}
