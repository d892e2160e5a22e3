/* SPDX-License-Identifier: Apache-2.0
 *
 * A name of earlier years for what is in CL/cl_gl.h. */
#ifndef FPGART_CL_GL_EXT_H
#define FPGART_CL_GL_EXT_H

#include <CL/cl_gl.h>

#endif
