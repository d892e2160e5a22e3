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

#ifdef __cplusplus
}
#endif

#endif
