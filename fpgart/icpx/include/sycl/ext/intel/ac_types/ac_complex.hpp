// SPDX-License-Identifier: Apache-2.0
// Complex numbers, as the headers ac_types of the HLS Libraries project define them.
#pragma once

#include <sycl/ext/intel/ac_types/ac_int.hpp>

#include <ac_complex.h>

template <typename Part>
struct sycl::is_device_copyable<ac_complex<Part>> : sycl::is_device_copyable<Part> {};
