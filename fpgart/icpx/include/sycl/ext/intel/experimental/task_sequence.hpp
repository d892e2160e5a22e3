// SPDX-License-Identifier: Apache-2.0
// Task sequences whose tasks run one after another, each when it is started.
//
// This header is found before the SYCL runtime's own, because the emulator cannot read the SPIR-V instructions that
// the latter uses. Results wait until they are asked for, in the order of the tasks.
#pragma once

#include <sycl/exception.hpp>
#include <sycl/ext/intel/experimental/fpga_kernel_properties.hpp>
#include <sycl/ext/intel/experimental/task_sequence_properties.hpp>
#include <sycl/ext/oneapi/experimental/builtins.hpp>
#include <sycl/ext/oneapi/properties/properties.hpp>

#include <type_traits>

namespace sycl {
inline namespace _V1 {
namespace ext::intel::experimental {

template <auto &Task>
struct task_sequence_checker : std::false_type {};

template <typename Result, typename... Arguments, Result (&Task)(Arguments...)>
struct task_sequence_checker<Task> : std::true_type {};

namespace detail {

// The results of tasks that nobody has asked for yet.
template <typename Result>
class waiting_results {
public:
  void put(const Result &result) {
    if (end - begin == most)
      oneapi::experimental::printf("task_sequence: more than %u results wait; the oldest is lost\n", most);
    results[end++ % most] = result;
  }
  Result take() { return results[begin++ % most]; }
  bool any() const { return begin != end; }

private:
  static constexpr unsigned most = sizeof(Result) <= 64 ? 1024 : 64;
  unsigned begin = 0, end = 0;
  Result results[most];
};

template <>
class waiting_results<void> {};

} // namespace detail

template <auto &Task, typename Properties = oneapi::experimental::empty_properties_t>
class task_sequence {
  static_assert(task_sequence_checker<Task>::value, "task_sequence needs a function");
  static_assert(oneapi::experimental::is_property_list<Properties>::value, "Property list is invalid.");
};

template <typename Result, typename... Arguments, Result (&Task)(Arguments...), typename... Properties>
class task_sequence<Task, oneapi::experimental::detail::properties_t<Properties...>> {
  using property_list_t = oneapi::experimental::detail::properties_t<Properties...>;

public:
  task_sequence() = default;
  task_sequence(const task_sequence &) = delete;
  task_sequence &operator=(const task_sequence &) = delete;
  task_sequence(task_sequence &&) = delete;
  task_sequence &operator=(task_sequence &&) = delete;

  void async([[maybe_unused]] Arguments... arguments) {
#if defined(__SYCL_DEVICE_ONLY__)
    if constexpr (std::is_void_v<Result>)
      Task(arguments...);
    else
      results.put(Task(arguments...));
#else
    throw exception{make_error_code(errc::feature_not_supported), "task_sequence is not supported on the host"};
#endif
  }

  Result get() {
#if defined(__SYCL_DEVICE_ONLY__)
    if constexpr (!std::is_void_v<Result>)
      return results.take();
#else
    throw exception{make_error_code(errc::feature_not_supported), "task_sequence is not supported on the host"};
#endif
  }

  template <typename Property>
  static constexpr bool has_property() {
    return property_list_t::template has_property<Property>();
  }

  template <typename Property>
  static constexpr auto get_property() {
    return property_list_t::template get_property<Property>();
  }

private:
#if defined(__SYCL_DEVICE_ONLY__)
  detail::waiting_results<Result> results;
#endif
};

} // namespace ext::intel::experimental
} // namespace _V1
} // namespace sycl
