/* SPDX-License-Identifier: Apache-2.0
 *
 * CL/cl.hpp, the C++ bindings of SDKs before 2018: the system's header of that name, or else its bindings of
 * today, asked for what makes them take such hosts. */
#ifndef FPGART_CL_HPP
#define FPGART_CL_HPP

#if __has_include_next(<CL/cl.hpp>)
#include_next <CL/cl.hpp>
#elif __has_include(<CL/opencl.hpp>)

#ifndef CL_HPP_TARGET_OPENCL_VERSION
#define CL_HPP_TARGET_OPENCL_VERSION 200
#endif
#ifndef CL_HPP_MINIMUM_OPENCL_VERSION
#define CL_HPP_MINIMUM_OPENCL_VERSION 100
#endif
#define CL_HPP_ENABLE_SIZE_T_COMPATIBILITY
#define CL_HPP_ENABLE_PROGRAM_CONSTRUCTION_FROM_ARRAY_COMPATIBILITY
#ifdef __CL_ENABLE_EXCEPTIONS
#define CL_HPP_ENABLE_EXCEPTIONS
#endif
#include <CL/opencl.hpp>

#ifndef VECTOR_CLASS
#define VECTOR_CLASS std::vector
#endif
#ifndef STRING_CLASS
#define STRING_CLASS std::string
#endif
namespace cl
{
using compatibility::make_kernel;
}

#else
#error "CL/opencl.hpp is not installed: apt install opencl-clhpp-headers"
#endif

#endif
