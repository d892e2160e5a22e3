// SPDX-License-Identifier: Apache-2.0
// The SYCL runtime's header of this name, and the names that programs took from it when Intel's compilers for FPGAs
// included it: whether a list of properties has an alignment, and which.
#pragma once

#include_next <sycl/ext/oneapi/experimental/annotated_usm/alloc_util.hpp>

namespace sycl {
inline namespace _V1 {
namespace ext::oneapi::experimental::detail {

template <typename Properties>
struct HasAlign : std::bool_constant<Properties::template has_property<alignment_key>()> {};

template <typename Properties>
struct GetAlignFromPropList : std::integral_constant<std::size_t, 0> {};

template <typename First, typename... Others>
struct GetAlignFromPropList<properties_t<First, Others...>>
    : std::integral_constant<std::size_t, get_property_or<alignment_key, properties_t<First, Others...>>(alignment<0>).value> {};

} // namespace ext::oneapi::experimental::detail
} // namespace _V1
} // namespace sycl
