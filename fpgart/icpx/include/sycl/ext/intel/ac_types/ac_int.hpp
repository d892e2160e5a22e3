// SPDX-License-Identifier: Apache-2.0
// Integers of any width, as the headers ac_types of the HLS Libraries project define them.
#pragma once

#if !__has_include(<ac_int.h>)
#error "ac_int.h is not installed: pip install 'fpgart[sycl]', or name a folder that has it with -I"
#endif

// Devices have no standard error to report a wrong index on.
#if defined(__SYCL_DEVICE_ONLY__) && !defined(AC_USER_DEFINED_ASSERT)
#define AC_USER_DEFINED_ASSERT(condition, file, line, message)
#endif
#include <iostream>  // which ac_fixed.h uses, and ac_int.h then does not include
#include <ac_int.h>

#include <sycl/detail/is_device_copyable.hpp>

#include <type_traits>

template <int Width>
using ac_uint = ac_int<Width, false>;

// Copies of their bytes are copies, although they have constructors of their own.
template <int Width, bool Signed>
struct sycl::is_device_copyable<ac_int<Width, Signed>> : std::true_type {};
