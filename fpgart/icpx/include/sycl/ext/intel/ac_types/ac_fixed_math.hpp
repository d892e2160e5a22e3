// SPDX-License-Identifier: Apache-2.0
// Functions of numbers with a fixed point. They are computed in double precision and rounded to the result's type.
#pragma once

#include <sycl/ext/intel/ac_types/ac_fixed.hpp>
#include <sycl/sycl.hpp>

// A sine or cosine: as many bits behind the point as the argument, and in front of it those of -1 to 1.
template <int Width, int Integer, bool Signed>
using ac_fixed_sine = ac_fixed<Width - Integer + (Signed ? 2 : 1), Signed ? 2 : 1, Signed>;

template <int Width, int Integer, bool Signed, ac_q_mode Rounding, ac_o_mode Overflow>
ac_fixed<Width, Integer, Signed> sqrt_fixed(ac_fixed<Width, Integer, Signed, Rounding, Overflow> x) {
  return sycl::sqrt(x.to_double());
}

template <int Width, int Integer, bool Signed, ac_q_mode Rounding, ac_o_mode Overflow>
ac_fixed_sine<Width, Integer, Signed> sin_fixed(ac_fixed<Width, Integer, Signed, Rounding, Overflow> x) {
  return sycl::sin(x.to_double());
}

template <int Width, int Integer, bool Signed, ac_q_mode Rounding, ac_o_mode Overflow>
ac_fixed_sine<Width, Integer, Signed> cos_fixed(ac_fixed<Width, Integer, Signed, Rounding, Overflow> x) {
  return sycl::cos(x.to_double());
}
