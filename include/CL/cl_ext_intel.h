/* SPDX-License-Identifier: Apache-2.0
 *
 * A name of earlier years for what is in CL/cl_ext.h. */
#ifndef FPGART_CL_EXT_INTEL_H
#define FPGART_CL_EXT_INTEL_H

#include <CL/cl_ext.h>

#endif
