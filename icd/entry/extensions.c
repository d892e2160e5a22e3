/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions with which loaders find the platform and the addresses of the others. They need
 * no interpreter. clIcdGetPlatformIDsKHR has to return CL_PLATFORM_NOT_FOUND_KHR if none starts:
 * cffi's embedding would return 0, which is success. In a host written in Python it starts
 * nothing (before_start.c). */
#include "extensions.h"

#include "handles.h"
#include "interpreter.h"
#include "before_start.h"

#include <CL/cl_ext.h>

CL_API_ENTRY cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint num_entries,
                                                       cl_platform_id *platforms,
                                                       cl_uint *num_platforms)
{
    if (!fpgart_in_python_host())
        return clGetPlatformIDs(num_entries, platforms, num_platforms);
    if (fpgart_state >= FPGART_FAILED || fpgart_platform() == 0) {
        if (num_platforms != NULL)
            *num_platforms = 0;
        return CL_PLATFORM_NOT_FOUND_KHR;
    }
    return fpgart_say_platform(num_entries, platforms, num_platforms);
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *func_name)
{
    return func_name == NULL ? NULL : fpgart_address_of(func_name);
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                                                        const char *func_name)
{
    if (func_name == NULL || fpgart_handle_kind((uintptr_t)platform) != FPGART_PLATFORM)
        return NULL;
    return fpgart_address_of(func_name);
}
