// SPDX-License-Identifier: Apache-2.0
// Numbers with a fixed point, as the headers ac_types of the HLS Libraries project define them.
#pragma once

#include <sycl/ext/intel/ac_types/ac_int.hpp>

#include <ac_fixed.h>

template <int Width, int Integer, bool Signed, ac_q_mode Rounding, ac_o_mode Overflow>
struct sycl::is_device_copyable<ac_fixed<Width, Integer, Signed, Rounding, Overflow>> : std::true_type {};
