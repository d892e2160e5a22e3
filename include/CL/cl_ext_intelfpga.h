/* SPDX-License-Identifier: Apache-2.0
 *
 * What Intel's FPGA runtime adds to OpenCL: names and values that hosts for its boards use. */
#ifndef FPGART_CL_EXT_INTELFPGA_H
#define FPGART_CL_EXT_INTELFPGA_H

#include <CL/cl.h>
#include <CL/cl_ext.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cl_mem_flags: the bank that a buffer shall be in */
#define CL_CHANNEL_AUTO_INTELFPGA (0 << 16)
#define CL_CHANNEL_1_INTELFPGA (1 << 16)
#define CL_CHANNEL_2_INTELFPGA (2 << 16)
#define CL_CHANNEL_3_INTELFPGA (3 << 16)
#define CL_CHANNEL_4_INTELFPGA (4 << 16)
#define CL_CHANNEL_5_INTELFPGA (5 << 16)
#define CL_CHANNEL_6_INTELFPGA (6 << 16)
#define CL_CHANNEL_7_INTELFPGA (7 << 16)
#define CL_MEM_HETEROGENEOUS_INTELFPGA (1 << 19)

/* cl_context_properties */
#define CL_CONTEXT_COMPILER_MODE_INTELFPGA 0x40F0
#define CL_CONTEXT_PROGRAM_EXE_LIBRARY_ROOT_INTELFPGA 0x40F1

/* Values of CL_CONTEXT_COMPILER_MODE_INTELFPGA */
#define CL_CONTEXT_COMPILER_MODE_OFFLINE_INTELFPGA 0
#define CL_CONTEXT_COMPILER_MODE_OFFLINE_CREATE_EXE_LIBRARY_INTELFPGA 1
#define CL_CONTEXT_COMPILER_MODE_OFFLINE_USE_EXE_LIBRARY_INTELFPGA 2
#define CL_CONTEXT_COMPILER_MODE_PRELOADED_BINARY_ONLY_INTELFPGA 3
#define CL_CONTEXT_COMPILER_MODE_ONLINE_INTELFPGA 4
#define CL_CONTEXT_COMPILER_MODE_SPLIT_KERNEL_INTELFPGA 5

/* The names of all this before 2017 */
#define CL_MEM_BANK_AUTO_ALTERA CL_CHANNEL_AUTO_INTELFPGA
#define CL_MEM_BANK_1_ALTERA CL_CHANNEL_1_INTELFPGA
#define CL_MEM_BANK_2_ALTERA CL_CHANNEL_2_INTELFPGA
#define CL_MEM_BANK_3_ALTERA CL_CHANNEL_3_INTELFPGA
#define CL_MEM_BANK_4_ALTERA CL_CHANNEL_4_INTELFPGA
#define CL_MEM_BANK_5_ALTERA CL_CHANNEL_5_INTELFPGA
#define CL_MEM_BANK_6_ALTERA CL_CHANNEL_6_INTELFPGA
#define CL_MEM_BANK_7_ALTERA CL_CHANNEL_7_INTELFPGA
#define CL_CHANNEL_AUTO_ALTERA CL_CHANNEL_AUTO_INTELFPGA
#define CL_CHANNEL_1_ALTERA CL_CHANNEL_1_INTELFPGA
#define CL_CHANNEL_2_ALTERA CL_CHANNEL_2_INTELFPGA
#define CL_CHANNEL_3_ALTERA CL_CHANNEL_3_INTELFPGA
#define CL_CHANNEL_4_ALTERA CL_CHANNEL_4_INTELFPGA
#define CL_CHANNEL_5_ALTERA CL_CHANNEL_5_INTELFPGA
#define CL_CHANNEL_6_ALTERA CL_CHANNEL_6_INTELFPGA
#define CL_CHANNEL_7_ALTERA CL_CHANNEL_7_INTELFPGA
#define CL_MEM_HETEROGENEOUS_ALTERA CL_MEM_HETEROGENEOUS_INTELFPGA
#define CL_CONTEXT_COMPILER_MODE_ALTERA CL_CONTEXT_COMPILER_MODE_INTELFPGA
#define CL_CONTEXT_PROGRAM_EXE_LIBRARY_ROOT_ALTERA CL_CONTEXT_PROGRAM_EXE_LIBRARY_ROOT_INTELFPGA
#define CL_CONTEXT_COMPILER_MODE_OFFLINE_ALTERA CL_CONTEXT_COMPILER_MODE_OFFLINE_INTELFPGA
#define CL_CONTEXT_COMPILER_MODE_OFFLINE_CREATE_EXE_LIBRARY_ALTERA CL_CONTEXT_COMPILER_MODE_OFFLINE_CREATE_EXE_LIBRARY_INTELFPGA
#define CL_CONTEXT_COMPILER_MODE_OFFLINE_USE_EXE_LIBRARY_ALTERA CL_CONTEXT_COMPILER_MODE_OFFLINE_USE_EXE_LIBRARY_INTELFPGA
#define CL_CONTEXT_COMPILER_MODE_PRELOADED_BINARY_ONLY_ALTERA CL_CONTEXT_COMPILER_MODE_PRELOADED_BINARY_ONLY_INTELFPGA
#define clTrackLiveObjectsAltera clTrackLiveObjectsIntelFPGA
#define clReportLiveObjectsAltera clReportLiveObjectsIntelFPGA
#define clGetBoardExtensionFunctionAddressAltera clGetBoardExtensionFunctionAddressIntelFPGA
#define clGetProfileInfoAltera clGetProfileInfoIntelFPGA
#define clSVMAllocAltera clSVMAlloc
#define clSVMFreeAltera clSVMFree
#define clSetKernelArgSVMPointerAltera clSetKernelArgSVMPointer

/* Bits of a device exception */
typedef cl_uint CL_EXCEPTION_TYPE_INTEL;
#define CL_DEVICE_EXCEPTION_ECC_CORRECTABLE_INTEL 1
#define CL_DEVICE_EXCEPTION_ECC_NON_CORRECTABLE_INTEL 2

/* Status of the calls on host pipes */
#define CL_PIPE_FULL -1111
#define CL_PIPE_EMPTY -1112

/* Types of the commands on program-scope pipes and variables */
#define CL_COMMAND_READ_HOST_PIPE_INTEL 0x4214
#define CL_COMMAND_WRITE_HOST_PIPE_INTEL 0x4215
#define CL_COMMAND_READ_GLOBAL_VARIABLE_INTEL 0x418E
#define CL_COMMAND_WRITE_GLOBAL_VARIABLE_INTEL 0x418F

/* Live objects: tracking has to begin before the objects are made; the report calls back for each */
extern CL_API_ENTRY void CL_API_CALL clTrackLiveObjectsIntelFPGA(cl_platform_id platform);

extern CL_API_ENTRY void CL_API_CALL clReportLiveObjectsIntelFPGA(
    cl_platform_id platform,
    void(CL_CALLBACK *report_fn)(void *user_data, void *obj_ptr, const char *type_name,
                                 cl_uint refcount),
    void *user_data);

extern CL_API_ENTRY void *CL_API_CALL clGetBoardExtensionFunctionAddressIntelFPGA(
    const char *func_name, cl_device_id device);

extern CL_API_ENTRY cl_int CL_API_CALL clSetDeviceExceptionCallbackIntelFPGA(
    cl_uint num_devices, const cl_device_id *devices, CL_EXCEPTION_TYPE_INTEL listen_mask,
    void(CL_CALLBACK *pfn_exception_notify)(CL_EXCEPTION_TYPE_INTEL exception_type,
                                            const void *private_info, size_t cb, void *user_data),
    void *user_data);

extern CL_API_ENTRY cl_int CL_API_CALL clReconfigurePLLIntelFPGA(cl_device_id device,
                                                                 const char *pll_settings_str);

extern CL_API_ENTRY cl_int CL_API_CALL clResetKernelsIntelFPGA(cl_context context,
                                                               cl_uint num_devices,
                                                               const cl_device_id *device_list);

extern CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithBinaryAndProgramDeviceIntelFPGA(
    cl_context context, cl_uint num_devices, const cl_device_id *device_list,
    const size_t *lengths, const unsigned char **binaries, cl_int *binary_status,
    cl_int *errcode_ret);

/* Counters of the kernel behind a running event, or of all kernels of a program, go to profile.mon */
extern CL_API_ENTRY cl_int CL_API_CALL clGetProfileInfoIntelFPGA(cl_event kernel_event);

extern CL_API_ENTRY cl_int CL_API_CALL clGetProfileDataDeviceIntelFPGA(
    cl_device_id device_id, cl_program program, cl_bool read_enqueue_kernels,
    cl_bool read_auto_enqueued, cl_bool clear_counters_after_readback, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret, cl_int *errcode_ret);

/* Host pipes: one packet per call; or several, in place */
extern CL_API_ENTRY cl_int CL_API_CALL clReadPipeIntelFPGA(cl_mem pipe, void *ptr);

extern CL_API_ENTRY cl_int CL_API_CALL clWritePipeIntelFPGA(cl_mem pipe, void *ptr);

extern CL_API_ENTRY void *CL_API_CALL clMapHostPipeIntelFPGA(cl_mem pipe, cl_map_flags map_flags,
                                                             size_t requested_size,
                                                             size_t *mapped_size,
                                                             cl_int *errcode_ret);

extern CL_API_ENTRY cl_int CL_API_CALL clUnmapHostPipeIntelFPGA(cl_mem pipe, void *mapped_ptr,
                                                                size_t size_to_unmap,
                                                                size_t *unmapped_size);

/* Pipes and variables of a program, by name */
extern CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadHostPipeINTEL(
    cl_command_queue command_queue, cl_program program, const char *pipe_symbol,
    cl_bool blocking_read, void *ptr, size_t size, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event);

extern CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteHostPipeINTEL(
    cl_command_queue command_queue, cl_program program, const char *pipe_symbol,
    cl_bool blocking_write, const void *ptr, size_t size, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event);

extern CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadGlobalVariableINTEL(
    cl_command_queue command_queue, cl_program program, const char *name, cl_bool blocking_read,
    size_t size, size_t offset, void *ptr, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event);

extern CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteGlobalVariableINTEL(
    cl_command_queue command_queue, cl_program program, const char *name, cl_bool blocking_write,
    size_t size, size_t offset, const void *ptr, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event);

#ifdef __cplusplus
}
#endif

#endif
