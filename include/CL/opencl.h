/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything a host usually includes. */
#ifndef __OPENCL_H
#define __OPENCL_H

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_ext_intelfpga.h>
#include <CL/cl_ext_ti.h>
#include <CL/cl_gl.h>

/* Hosts of the years when compilers' own headers brought these along call clock_gettime, exit and
 * their like without them. */
#include <stdlib.h>
#include <time.h>

#endif
