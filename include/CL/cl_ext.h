/* SPDX-License-Identifier: Apache-2.0
 *
 * Extensions that this driver, or the hosts it is meant for, know by name. */
#ifndef __CL_EXT_H
#define __CL_EXT_H

#include <CL/cl.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(CL_NO_PROTOTYPES) && !defined(CL_NO_EXTENSION_PROTOTYPES)
#define CL_NO_EXTENSION_PROTOTYPES
#endif

/* Types */
typedef cl_properties cl_queue_properties_khr;
typedef cl_ulong cl_device_partition_property_ext;
typedef cl_uint cl_queue_priority_khr;
typedef cl_uint cl_queue_throttle_khr;
typedef cl_uint cl_version_khr;
typedef cl_bitfield cl_device_integer_dot_product_capabilities_khr;
typedef cl_bitfield cl_device_unified_shared_memory_capabilities_intel;
typedef cl_properties cl_mem_properties_intel;
typedef cl_bitfield cl_mem_alloc_flags_intel;
typedef cl_uint cl_mem_info_intel;
typedef cl_uint cl_unified_shared_memory_type_intel;
typedef cl_uint cl_mem_advice_intel;

typedef struct _cl_name_version_khr {
    cl_version_khr version;
    char name[64];
} cl_name_version_khr;

typedef struct _cl_device_pci_bus_info_khr {
    cl_uint pci_domain;
    cl_uint pci_bus;
    cl_uint pci_device;
    cl_uint pci_function;
} cl_device_pci_bus_info_khr;

typedef struct _cl_device_integer_dot_product_acceleration_properties_khr {
    cl_bool signed_accelerated;
    cl_bool unsigned_accelerated;
    cl_bool mixed_signedness_accelerated;
    cl_bool accumulating_saturating_signed_accelerated;
    cl_bool accumulating_saturating_unsigned_accelerated;
    cl_bool accumulating_saturating_mixed_signedness_accelerated;
} cl_device_integer_dot_product_acceleration_properties_khr;

#define cl_khr_icd 1
#define cl_khr_fp16 1
#define cl_khr_fp64 1
#define cl_khr_il_program 1
#define cl_khr_terminate_context 1
#define cl_khr_priority_hints 1
#define cl_khr_throttle_hints 1
#define cl_khr_extended_versioning 1
#define cl_khr_device_uuid 1
#define cl_khr_pci_bus_info 1
#define cl_khr_create_command_queue 1
#define cl_khr_subgroups 1
#define cl_khr_suggested_local_work_size 1
#define cl_khr_integer_dot_product 1
#define cl_ext_device_fission 1
#define cl_intel_unified_shared_memory 1
#define cl_intel_create_buffer_with_properties 1
#define cl_intel_mem_alloc_buffer_location 1
#define cl_intel_mem_channel_property 1
#define cl_intel_required_subgroup_size 1
#define CL_INTEL_MEM_ALLOC_BUFFER_LOCATION_EXTENSION_NAME "cl_intel_mem_alloc_buffer_location"

/* Status codes */
#define CL_PLATFORM_NOT_FOUND_KHR -1001
#define CL_CONTEXT_TERMINATED_KHR -1121
#define CL_DEVICE_PARTITION_FAILED_EXT -1057
#define CL_INVALID_PARTITION_COUNT_EXT -1058
#define CL_INVALID_PARTITION_NAME_EXT -1059
#define CL_PARTITION_BY_NAMES_LIST_END_INTEL -1

/* Booleans and general values */
#define CL_NAME_VERSION_MAX_NAME_SIZE_KHR 0x0040

/* A version number of cl_khr_extended_versioning: major, minor and patch in 10, 10 and 12 bits */
#define CL_VERSION_MAJOR_BITS_KHR 10
#define CL_VERSION_MINOR_BITS_KHR 10
#define CL_VERSION_PATCH_BITS_KHR 12
#define CL_VERSION_MAJOR_MASK_KHR 0x3FF
#define CL_VERSION_MINOR_MASK_KHR 0x3FF
#define CL_VERSION_PATCH_MASK_KHR 0xFFF
#define CL_VERSION_MAJOR_KHR(version) ((version) >> 22)
#define CL_VERSION_MINOR_KHR(version) (((version) >> 12) & CL_VERSION_MINOR_MASK_KHR)
#define CL_VERSION_PATCH_KHR(version) ((version) & CL_VERSION_PATCH_MASK_KHR)
#define CL_MAKE_VERSION_KHR(major, minor, patch) \
    ((((major) & CL_VERSION_MAJOR_MASK_KHR) << 22) | (((minor) & CL_VERSION_MINOR_MASK_KHR) << 12) | \
     ((patch) & CL_VERSION_PATCH_MASK_KHR))

/* Platforms */
#define CL_PLATFORM_ICD_SUFFIX_KHR 0x0920
#define CL_PLATFORM_NUMERIC_VERSION_KHR 0x0906
#define CL_PLATFORM_EXTENSIONS_WITH_VERSION_KHR 0x0907
#define CL_PLATFORM_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR 0x2044
#define CL_PLATFORM_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR 0x2037
#define CL_PLATFORM_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR 0x2038
#define CL_PLATFORM_SEMAPHORE_TYPES_KHR 0x2036

/* Devices */
#define CL_DEVICE_HALF_FP_CONFIG 0x1033
#define CL_DEVICE_IL_VERSION_KHR 0x105B
#define CL_DEVICE_TERMINATE_CAPABILITY_KHR 0x2031
#define CL_DEVICE_SPIR_VERSIONS 0x40E0
#define CL_DEVICE_PARTITION_EQUALLY_EXT 0x4050
#define CL_DEVICE_PARTITION_BY_COUNTS_EXT 0x4051
#define CL_DEVICE_PARTITION_BY_NAMES_EXT 0x4052
#define CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN_EXT 0x4053
#define CL_DEVICE_PARENT_DEVICE_EXT 0x4054
#define CL_DEVICE_PARTITION_TYPES_EXT 0x4055
#define CL_DEVICE_AFFINITY_DOMAINS_EXT 0x4056
#define CL_DEVICE_REFERENCE_COUNT_EXT 0x4057
#define CL_DEVICE_PARTITION_STYLE_EXT 0x4058
#define CL_DEVICE_NUMERIC_VERSION_KHR 0x105E
#define CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR 0x105F
#define CL_DEVICE_EXTENSIONS_WITH_VERSION_KHR 0x1060
#define CL_DEVICE_ILS_WITH_VERSION_KHR 0x1061
#define CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION_KHR 0x1062
#define CL_DEVICE_UUID_KHR 0x106A
#define CL_DRIVER_UUID_KHR 0x106B
#define CL_DEVICE_LUID_VALID_KHR 0x106C
#define CL_DEVICE_LUID_KHR 0x106D
#define CL_DEVICE_NODE_MASK_KHR 0x106E
#define CL_DEVICE_PCI_BUS_INFO_KHR 0x410F
#define CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED_KHR (1 << 0)
#define CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_KHR (1 << 1)
#define CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR 0x1073
#define CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR 0x1074
#define CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR 0x1075
#define CL_DEVICE_ID_INTEL 0x4251
#define CL_DEVICE_SUB_GROUP_SIZES_INTEL 0x4108
#define CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT 0x4231
#define CL_DEVICE_DOUBLE_FP_ATOMIC_CAPABILITIES_EXT 0x4232
#define CL_DEVICE_HALF_FP_ATOMIC_CAPABILITIES_EXT 0x4233
#define CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL 0x4190
#define CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL 0x4191
#define CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL 0x4192
#define CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL 0x4193
#define CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL 0x4194

/* Contexts */
#define CL_CONTEXT_TERMINATE_KHR 0x2032

/* Command queues */
#define CL_QUEUE_PRIORITY_KHR 0x1096
#define CL_QUEUE_PRIORITY_HIGH_KHR (1 << 0)
#define CL_QUEUE_PRIORITY_MED_KHR (1 << 1)
#define CL_QUEUE_PRIORITY_LOW_KHR (1 << 2)
#define CL_QUEUE_THROTTLE_KHR 0x1097
#define CL_QUEUE_THROTTLE_HIGH_KHR (1 << 0)
#define CL_QUEUE_THROTTLE_MED_KHR (1 << 1)
#define CL_QUEUE_THROTTLE_LOW_KHR (1 << 2)

/* Memory objects */
#define CL_MEM_ALLOC_FLAGS_IMG 0x40D7
#define CL_MEM_ALLOC_RELAX_REQUIREMENTS_IMG (1 << 0)
#define CL_MEM_ALLOC_FLAGS_INTEL 0x4195
#define CL_MEM_ALLOC_WRITE_COMBINED_INTEL (1 << 0)
#define CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL (1 << 1)
#define CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL (1 << 2)
#define CL_MEM_ALLOC_TYPE_INTEL 0x419A
#define CL_MEM_ALLOC_BASE_PTR_INTEL 0x419B
#define CL_MEM_ALLOC_SIZE_INTEL 0x419C
#define CL_MEM_ALLOC_DEVICE_INTEL 0x419D
#define CL_MEM_TYPE_UNKNOWN_INTEL 0x4196
#define CL_MEM_TYPE_HOST_INTEL 0x4197
#define CL_MEM_TYPE_DEVICE_INTEL 0x4198
#define CL_MEM_TYPE_SHARED_INTEL 0x4199
#define CL_MEM_ALLOC_BUFFER_LOCATION_INTEL 0x419E
#define CL_MEM_CHANNEL_INTEL 0x4213

/* Programs */
#define CL_PROGRAM_IL_KHR 0x1169
#define CL_PROGRAM_BINARY_TYPE_INTERMEDIATE 0x40E1

/* Kernels */
#define CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE_KHR 0x2033
#define CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE_KHR 0x2034
#define CL_KERNEL_SPILL_MEM_SIZE_INTEL 0x4109
#define CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL 0x410A
#define CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL 0x4200
#define CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL 0x4201
#define CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL 0x4202
#define CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL 0x4203

/* Events and commands */
#define CL_COMMAND_MEMFILL_INTEL 0x4204
#define CL_COMMAND_MEMCPY_INTEL 0x4205
#define CL_COMMAND_MIGRATEMEM_INTEL 0x4206
#define CL_COMMAND_MEMADVISE_INTEL 0x4207

/* Others */
#define CL_AFFINITY_DOMAIN_L1_CACHE_EXT 1
#define CL_AFFINITY_DOMAIN_L2_CACHE_EXT 2
#define CL_AFFINITY_DOMAIN_L3_CACHE_EXT 3
#define CL_AFFINITY_DOMAIN_L4_CACHE_EXT 4
#define CL_AFFINITY_DOMAIN_NUMA_EXT 0x0010
#define CL_AFFINITY_DOMAIN_NEXT_FISSIONABLE_EXT 0x0100
#define CL_PROPERTIES_LIST_END_EXT ((cl_device_partition_property_ext)0)
#define CL_PARTITION_BY_COUNTS_LIST_END_EXT ((cl_device_partition_property_ext)0)
#define CL_PARTITION_BY_NAMES_LIST_END_EXT (~(cl_device_partition_property_ext)0)
#define CL_UUID_SIZE_KHR 0x0010
#define CL_LUID_SIZE_KHR 8
#define CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL (1 << 0)
#define CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL (1 << 1)
#define CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL (1 << 2)
#define CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ATOMIC_ACCESS_INTEL (1 << 3)

#ifndef CL_NO_EXTENSION_PROTOTYPES

extern CL_API_ENTRY cl_int CL_API_CALL clIcdGetPlatformIDsKHR(
    cl_uint num_entries, cl_platform_id *platforms, cl_uint *num_platforms) CL_API_SUFFIX__VERSION_1_0;

extern CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithILKHR(
    cl_context context, const void *il, size_t length, cl_int *errcode_ret) CL_API_SUFFIX__VERSION_1_0;

extern CL_API_ENTRY cl_int CL_API_CALL clTerminateContextKHR(
    cl_context context) CL_API_SUFFIX__VERSION_1_2;

extern CL_API_ENTRY cl_command_queue CL_API_CALL clCreateCommandQueueWithPropertiesKHR(
    cl_context context, cl_device_id device, const cl_queue_properties_khr *properties,
    cl_int *errcode_ret) CL_API_SUFFIX__VERSION_1_2;

extern CL_API_ENTRY cl_int CL_API_CALL clReleaseDeviceEXT(
    cl_device_id device) CL_API_SUFFIX__VERSION_1_1;

extern CL_API_ENTRY cl_int CL_API_CALL clRetainDeviceEXT(
    cl_device_id device) CL_API_SUFFIX__VERSION_1_1;

extern CL_API_ENTRY cl_int CL_API_CALL clCreateSubDevicesEXT(
    cl_device_id in_device, const cl_device_partition_property_ext *properties,
    cl_uint num_entries, cl_device_id *out_devices, cl_uint *num_devices) CL_API_SUFFIX__VERSION_1_1;

extern CL_API_ENTRY cl_int CL_API_CALL clGetKernelSubGroupInfoKHR(
    cl_kernel in_kernel, cl_device_id in_device, cl_kernel_sub_group_info param_name,
    size_t input_value_size, const void *input_value, size_t param_value_size, void *param_value,
    size_t *param_value_size_ret) CL_API_SUFFIX__VERSION_2_0_DEPRECATED;

extern CL_API_ENTRY cl_int CL_API_CALL clGetKernelSuggestedLocalWorkSizeKHR(
    cl_command_queue command_queue, cl_kernel kernel, cl_uint work_dim,
    const size_t *global_work_offset, const size_t *global_work_size,
    size_t *suggested_local_work_size) CL_API_SUFFIX__VERSION_3_0;

extern CL_API_ENTRY cl_mem CL_API_CALL clCreateBufferWithPropertiesINTEL(
    cl_context context, const cl_mem_properties_intel *properties, cl_mem_flags flags,
    size_t size, void *host_ptr, cl_int *errcode_ret) CL_API_SUFFIX__VERSION_1_0;

extern CL_API_ENTRY void * CL_API_CALL clHostMemAllocINTEL(
    cl_context context, const cl_mem_properties_intel *properties, size_t size,
    cl_uint alignment, cl_int *errcode_ret) CL_API_SUFFIX__VERSION_1_0;

extern CL_API_ENTRY void * CL_API_CALL clDeviceMemAllocINTEL(
    cl_context context, cl_device_id device, const cl_mem_properties_intel *properties,
    size_t size, cl_uint alignment, cl_int *errcode_ret) CL_API_SUFFIX__VERSION_1_0;

extern CL_API_ENTRY void * CL_API_CALL clSharedMemAllocINTEL(
    cl_context context, cl_device_id device, const cl_mem_properties_intel *properties,
    size_t size, cl_uint alignment, cl_int *errcode_ret) CL_API_SUFFIX__VERSION_1_0;

extern CL_API_ENTRY cl_int CL_API_CALL clMemFreeINTEL(
    cl_context context, void *ptr) CL_API_SUFFIX__VERSION_1_0;

extern CL_API_ENTRY cl_int CL_API_CALL clMemBlockingFreeINTEL(
    cl_context context, void *ptr) CL_API_SUFFIX__VERSION_1_0;

extern CL_API_ENTRY cl_int CL_API_CALL clGetMemAllocInfoINTEL(
    cl_context context, const void *ptr, cl_mem_info_intel param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret) CL_API_SUFFIX__VERSION_1_0;

extern CL_API_ENTRY cl_int CL_API_CALL clSetKernelArgMemPointerINTEL(
    cl_kernel kernel, cl_uint arg_index, const void *arg_value) CL_API_SUFFIX__VERSION_1_0;

extern CL_API_ENTRY cl_int CL_API_CALL clEnqueueMemsetINTEL(
    cl_command_queue command_queue, void *dst_ptr, cl_int value, size_t size,
    cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event) CL_API_SUFFIX__VERSION_1_0;

extern CL_API_ENTRY cl_int CL_API_CALL clEnqueueMemFillINTEL(
    cl_command_queue command_queue, void *dst_ptr, const void *pattern, size_t pattern_size,
    size_t size, cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
    cl_event *event) CL_API_SUFFIX__VERSION_1_0;

extern CL_API_ENTRY cl_int CL_API_CALL clEnqueueMemcpyINTEL(
    cl_command_queue command_queue, cl_bool blocking, void *dst_ptr, const void *src_ptr,
    size_t size, cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
    cl_event *event) CL_API_SUFFIX__VERSION_1_0;

#ifdef CL_VERSION_1_2
extern CL_API_ENTRY cl_int CL_API_CALL clEnqueueMigrateMemINTEL(
    cl_command_queue command_queue, const void *ptr, size_t size, cl_mem_migration_flags flags,
    cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event) CL_API_SUFFIX__VERSION_1_0;
#endif

extern CL_API_ENTRY cl_int CL_API_CALL clEnqueueMemAdviseINTEL(
    cl_command_queue command_queue, const void *ptr, size_t size, cl_mem_advice_intel advice,
    cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event) CL_API_SUFFIX__VERSION_1_0;

#endif /* CL_NO_EXTENSION_PROTOTYPES */

/* The same as function pointers, for what clGetExtensionFunctionAddressForPlatform returns */
typedef cl_int CL_API_CALL clIcdGetPlatformIDsKHR_t(cl_uint num_entries, cl_platform_id
    *platforms, cl_uint *num_platforms);
typedef clIcdGetPlatformIDsKHR_t *clIcdGetPlatformIDsKHR_fn;

typedef cl_program CL_API_CALL clCreateProgramWithILKHR_t(cl_context context, const void *il,
    size_t length, cl_int *errcode_ret);
typedef clCreateProgramWithILKHR_t *clCreateProgramWithILKHR_fn;

typedef cl_int CL_API_CALL clTerminateContextKHR_t(cl_context context);
typedef clTerminateContextKHR_t *clTerminateContextKHR_fn;

typedef cl_command_queue CL_API_CALL clCreateCommandQueueWithPropertiesKHR_t(cl_context context,
    cl_device_id device, const cl_queue_properties_khr *properties, cl_int *errcode_ret);
typedef clCreateCommandQueueWithPropertiesKHR_t *clCreateCommandQueueWithPropertiesKHR_fn;

typedef cl_int CL_API_CALL clReleaseDeviceEXT_t(cl_device_id device);
typedef clReleaseDeviceEXT_t *clReleaseDeviceEXT_fn;

typedef cl_int CL_API_CALL clRetainDeviceEXT_t(cl_device_id device);
typedef clRetainDeviceEXT_t *clRetainDeviceEXT_fn;

typedef cl_int CL_API_CALL clCreateSubDevicesEXT_t(cl_device_id in_device, const
    cl_device_partition_property_ext *properties, cl_uint num_entries, cl_device_id *out_devices,
    cl_uint *num_devices);
typedef clCreateSubDevicesEXT_t *clCreateSubDevicesEXT_fn;

typedef cl_int CL_API_CALL clGetKernelSubGroupInfoKHR_t(cl_kernel in_kernel, cl_device_id
    in_device, cl_kernel_sub_group_info param_name, size_t input_value_size, const void
    *input_value, size_t param_value_size, void *param_value, size_t *param_value_size_ret);
typedef clGetKernelSubGroupInfoKHR_t *clGetKernelSubGroupInfoKHR_fn;

typedef cl_int CL_API_CALL clGetKernelSuggestedLocalWorkSizeKHR_t(cl_command_queue
    command_queue, cl_kernel kernel, cl_uint work_dim, const size_t *global_work_offset, const
    size_t *global_work_size, size_t *suggested_local_work_size);
typedef clGetKernelSuggestedLocalWorkSizeKHR_t *clGetKernelSuggestedLocalWorkSizeKHR_fn;

typedef cl_mem CL_API_CALL clCreateBufferWithPropertiesINTEL_t(cl_context context, const
    cl_mem_properties_intel *properties, cl_mem_flags flags, size_t size, void *host_ptr, cl_int
    *errcode_ret);
typedef clCreateBufferWithPropertiesINTEL_t *clCreateBufferWithPropertiesINTEL_fn;

typedef void * CL_API_CALL clHostMemAllocINTEL_t(cl_context context, const
    cl_mem_properties_intel *properties, size_t size, cl_uint alignment, cl_int *errcode_ret);
typedef clHostMemAllocINTEL_t *clHostMemAllocINTEL_fn;

typedef void * CL_API_CALL clDeviceMemAllocINTEL_t(cl_context context, cl_device_id device,
    const cl_mem_properties_intel *properties, size_t size, cl_uint alignment, cl_int *errcode_ret);
typedef clDeviceMemAllocINTEL_t *clDeviceMemAllocINTEL_fn;

typedef void * CL_API_CALL clSharedMemAllocINTEL_t(cl_context context, cl_device_id device,
    const cl_mem_properties_intel *properties, size_t size, cl_uint alignment, cl_int *errcode_ret);
typedef clSharedMemAllocINTEL_t *clSharedMemAllocINTEL_fn;

typedef cl_int CL_API_CALL clMemFreeINTEL_t(cl_context context, void *ptr);
typedef clMemFreeINTEL_t *clMemFreeINTEL_fn;

typedef cl_int CL_API_CALL clMemBlockingFreeINTEL_t(cl_context context, void *ptr);
typedef clMemBlockingFreeINTEL_t *clMemBlockingFreeINTEL_fn;

typedef cl_int CL_API_CALL clGetMemAllocInfoINTEL_t(cl_context context, const void *ptr,
    cl_mem_info_intel param_name, size_t param_value_size, void *param_value, size_t
    *param_value_size_ret);
typedef clGetMemAllocInfoINTEL_t *clGetMemAllocInfoINTEL_fn;

typedef cl_int CL_API_CALL clSetKernelArgMemPointerINTEL_t(cl_kernel kernel, cl_uint arg_index,
    const void *arg_value);
typedef clSetKernelArgMemPointerINTEL_t *clSetKernelArgMemPointerINTEL_fn;

typedef cl_int CL_API_CALL clEnqueueMemsetINTEL_t(cl_command_queue command_queue, void *dst_ptr,
    cl_int value, size_t size, cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
    cl_event *event);
typedef clEnqueueMemsetINTEL_t *clEnqueueMemsetINTEL_fn;

typedef cl_int CL_API_CALL clEnqueueMemFillINTEL_t(cl_command_queue command_queue, void
    *dst_ptr, const void *pattern, size_t pattern_size, size_t size, cl_uint
    num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event);
typedef clEnqueueMemFillINTEL_t *clEnqueueMemFillINTEL_fn;

typedef cl_int CL_API_CALL clEnqueueMemcpyINTEL_t(cl_command_queue command_queue, cl_bool
    blocking, void *dst_ptr, const void *src_ptr, size_t size, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event);
typedef clEnqueueMemcpyINTEL_t *clEnqueueMemcpyINTEL_fn;

typedef cl_int CL_API_CALL clEnqueueMigrateMemINTEL_t(cl_command_queue command_queue, const void
    *ptr, size_t size, cl_mem_migration_flags flags, cl_uint num_events_in_wait_list, const cl_event
    *event_wait_list, cl_event *event);
typedef clEnqueueMigrateMemINTEL_t *clEnqueueMigrateMemINTEL_fn;

typedef cl_int CL_API_CALL clEnqueueMemAdviseINTEL_t(cl_command_queue command_queue, const void
    *ptr, size_t size, cl_mem_advice_intel advice, cl_uint num_events_in_wait_list, const cl_event
    *event_wait_list, cl_event *event);
typedef clEnqueueMemAdviseINTEL_t *clEnqueueMemAdviseINTEL_fn;

#ifdef __cplusplus
}
#endif

#endif
