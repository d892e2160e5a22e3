/* SPDX-License-Identifier: Apache-2.0
 *
 * What TI's OpenCL for the 66AK2x adds: names and values that hosts for its boards use. */
#ifndef FPGART_CL_EXT_TI_H
#define FPGART_CL_EXT_TI_H

#include <CL/cl.h>
#include <CL/cl_ext.h>

/* cl_device_info, all cl_ulong: bytes of on-chip memory, and of heaps whose buffers are mapped */
#define CL_DEVICE_MSMC_MEM_SIZE_TI 0x4060
#define CL_DEVICE_GLOBAL_EXT1_MEM_SIZE_TI 0x4061
#define CL_DEVICE_GLOBAL_EXT2_MEM_SIZE_TI 0x4062

/* cl_device_info, all cl_ulong: bytes of the largest buffer that there is room for at the moment */
#define CL_DEVICE_GLOBAL_MEM_MAX_ALLOC_TI 0x4063
#define CL_DEVICE_GLOBAL_EXT1_MEM_MAX_ALLOC_TI 0x4064
#define CL_DEVICE_GLOBAL_EXT2_MEM_MAX_ALLOC_TI 0x4065
#define CL_DEVICE_MSMC_MEM_MAX_ALLOC_TI 0x4066
#define CL_DEVICE_LOCAL_MEM_MAX_ALLOC_TI 0x4067

/* cl_mem_flags: a buffer in on-chip memory (cl_ti_msmc_buffers) */
#define CL_MEM_USE_MSMC_TI (1 << 20)

/* cl_command_queue_properties */
#define CL_QUEUE_KERNEL_TIMEOUT_COMPUTE_UNIT_TI (1 << 20)

/* Statuses of events whose kernel ended itself or was ended */
#define CL_ERROR_KERNEL_ABORT_TI -7101
#define CL_ERROR_KERNEL_EXIT_TI -7102
#define CL_ERROR_KERNEL_TIMEOUT_TI -7103

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of the board that the host uses as its own: DDR3, and on-chip memory. A buffer made over it
 * with CL_MEM_USE_HOST_PTR is never copied. NULL where there is no room. */
extern CL_API_ENTRY void *CL_API_CALL __malloc_ddr(size_t size);
extern CL_API_ENTRY void CL_API_CALL __free_ddr(void *ptr);
extern CL_API_ENTRY void *CL_API_CALL __malloc_msmc(size_t size);
extern CL_API_ENTRY void CL_API_CALL __free_msmc(void *ptr);
/* Not 0 for an address in such memory */
extern CL_API_ENTRY cl_int CL_API_CALL __is_in_malloced_region(void *ptr);

#ifdef __cplusplus
}
#endif

#endif
