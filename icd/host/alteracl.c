/* SPDX-License-Identifier: Apache-2.0
 *
 * libalteracl.a, with which hosts for Intel's boards are linked besides OpenCL itself.
 *
 * An OpenCL loader exports the specification's functions only. This library finds those of
 * Intel's runtime by clGetExtensionFunctionAddressForPlatform, in the first platform that has
 * them; without one they return CL_INVALID_OPERATION or NULL. All symbols are weak, so that a
 * host's own definition has priority. */
#include <CL/cl_ext_intelfpga.h>

#include <stdlib.h>

/* Hosts that define these have no header for them, so no header declares them. */
void *acl_aligned_malloc(size_t size);
void acl_aligned_free(void *memory);

#define WEAK __attribute__((weak))
#define MOST_PLATFORMS 64
/* The alignment of host memory for boards' DMA, in bytes */
#define ACL_ALIGNMENT 64

static void *address_of(const char *name)
{
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint count = 0, i;
    if (clGetPlatformIDs(MOST_PLATFORMS, platforms, &count) != CL_SUCCESS)
        return NULL;
    for (i = 0; i < count && i < MOST_PLATFORMS; i++) {
        void *found = clGetExtensionFunctionAddressForPlatform(platforms[i], name);
        if (found != NULL)
            return found;
    }
    return NULL;
}

WEAK void *acl_aligned_malloc(size_t size)
{
    void *memory = NULL;
    return posix_memalign(&memory, ACL_ALIGNMENT, size) == 0 ? memory : NULL;
}

WEAK void acl_aligned_free(void *memory)
{
    free(memory);
}

/* Defines `name`; `otherwise` is the result if no platform has it */
#define FORWARD(type, name, parameters, arguments, otherwise)                                      \
    WEAK CL_API_ENTRY type CL_API_CALL name parameters                                             \
    {                                                                                              \
        type(CL_API_CALL * function) parameters =                                                  \
            (type(CL_API_CALL *) parameters)(size_t)address_of(#name);                             \
        return function != NULL ? function arguments : (otherwise);                                \
    }

FORWARD(void *, clGetBoardExtensionFunctionAddressIntelFPGA,
        (const char *func_name, cl_device_id device), (func_name, device), NULL)
FORWARD(cl_int, clSetDeviceExceptionCallbackIntelFPGA,
        (cl_uint num_devices, const cl_device_id *devices, CL_EXCEPTION_TYPE_INTEL listen_mask,
         void(CL_CALLBACK *pfn_exception_notify)(CL_EXCEPTION_TYPE_INTEL exception_type,
                                                 const void *private_info, size_t cb,
                                                 void *user_data),
         void *user_data),
        (num_devices, devices, listen_mask, pfn_exception_notify, user_data), CL_INVALID_OPERATION)
FORWARD(cl_int, clReconfigurePLLIntelFPGA, (cl_device_id device, const char *pll_settings_str),
        (device, pll_settings_str), CL_INVALID_OPERATION)
FORWARD(cl_int, clResetKernelsIntelFPGA,
        (cl_context context, cl_uint num_devices, const cl_device_id *device_list),
        (context, num_devices, device_list), CL_INVALID_OPERATION)
FORWARD(cl_int, clGetProfileInfoIntelFPGA, (cl_event kernel_event), (kernel_event),
        CL_INVALID_OPERATION)
FORWARD(cl_int, clGetProfileDataDeviceIntelFPGA,
        (cl_device_id device_id, cl_program program, cl_bool read_enqueue_kernels,
         cl_bool read_auto_enqueued, cl_bool clear_counters_after_readback, size_t param_value_size,
         void *param_value, size_t *param_value_size_ret, cl_int *errcode_ret),
        (device_id, program, read_enqueue_kernels, read_auto_enqueued,
         clear_counters_after_readback, param_value_size, param_value, param_value_size_ret,
         errcode_ret),
        CL_INVALID_OPERATION)
FORWARD(cl_int, clReadPipeIntelFPGA, (cl_mem pipe, void *ptr), (pipe, ptr), CL_INVALID_OPERATION)
FORWARD(cl_int, clWritePipeIntelFPGA, (cl_mem pipe, void *ptr), (pipe, ptr), CL_INVALID_OPERATION)
FORWARD(void *, clMapHostPipeIntelFPGA,
        (cl_mem pipe, cl_map_flags map_flags, size_t requested_size, size_t *mapped_size,
         cl_int *errcode_ret),
        (pipe, map_flags, requested_size, mapped_size, errcode_ret), NULL)
FORWARD(cl_int, clUnmapHostPipeIntelFPGA,
        (cl_mem pipe, void *mapped_ptr, size_t size_to_unmap, size_t *unmapped_size),
        (pipe, mapped_ptr, size_to_unmap, unmapped_size), CL_INVALID_OPERATION)

WEAK CL_API_ENTRY void CL_API_CALL clTrackLiveObjectsIntelFPGA(cl_platform_id platform)
{
    void(CL_API_CALL * function)(cl_platform_id) =
        (void(CL_API_CALL *)(cl_platform_id))(size_t)address_of("clTrackLiveObjectsIntelFPGA");
    if (function != NULL)
        function(platform);
}

typedef void(CL_CALLBACK *report_function)(void *, void *, const char *, cl_uint);

WEAK CL_API_ENTRY void CL_API_CALL clReportLiveObjectsIntelFPGA(cl_platform_id platform,
                                                                report_function report_fn,
                                                                void *user_data)
{
    void(CL_API_CALL * function)(cl_platform_id, report_function, void *) = (void(CL_API_CALL *)(
        cl_platform_id, report_function, void *))(size_t)address_of("clReportLiveObjectsIntelFPGA");
    if (function != NULL)
        function(platform, report_fn, user_data);
}
