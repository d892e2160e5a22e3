/* SPDX-License-Identifier: Apache-2.0
 *
 * Which version of OpenCL the host is written for: CL_TARGET_OPENCL_VERSION, 100 to 300. */
#ifndef OPENCL_CL_VERSION_H_
#define OPENCL_CL_VERSION_H_

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif

#if CL_TARGET_OPENCL_VERSION >= 300
#define CL_VERSION_3_0 1
#endif
#if CL_TARGET_OPENCL_VERSION >= 220
#define CL_VERSION_2_2 1
#endif
#if CL_TARGET_OPENCL_VERSION >= 210
#define CL_VERSION_2_1 1
#endif
#if CL_TARGET_OPENCL_VERSION >= 200
#define CL_VERSION_2_0 1
#endif
#if CL_TARGET_OPENCL_VERSION >= 120
#define CL_VERSION_1_2 1
#endif
#if CL_TARGET_OPENCL_VERSION >= 110
#define CL_VERSION_1_1 1
#endif
#define CL_VERSION_1_0 1

#endif
