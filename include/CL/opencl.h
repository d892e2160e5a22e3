/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything a host usually includes. */
#ifndef OPENCL_OPENCL_H_
#define OPENCL_OPENCL_H_

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_ext_intelfpga.h>
#include <CL/cl_ext_ti.h>
#include <CL/cl_gl.h>

#endif
