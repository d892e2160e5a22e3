// SPDX-License-Identifier: Apache-2.0
// A packet of a streaming interface with its sideband signals, as a value that pipes carry.
#pragma once

#include <sycl/ext/intel/experimental/pipes.hpp>

namespace sycl {
inline namespace _V1 {
namespace ext::intel::experimental {

template <typename Data, bool UsesPackets, bool UsesEmpty>
struct StreamingBeat {
  StreamingBeat() = default;
  StreamingBeat(Data data, bool sop = false, bool eop = false, int empty = 0)
      : data(data), sop(sop), eop(eop), empty(empty) {}

  Data data;
  bool sop = false;
  bool eop = false;
  int empty = 0;
};

template <typename Data>
struct StreamingBeat<Data, false, false> {
  StreamingBeat() = default;
  StreamingBeat(Data data) : data(data) {}

  Data data;
};

template <typename Data>
struct StreamingBeat<Data, true, false> {
  StreamingBeat() = default;
  StreamingBeat(Data data, bool sop = false, bool eop = false) : data(data), sop(sop), eop(eop) {}

  Data data;
  bool sop = false;
  bool eop = false;
};

} // namespace ext::intel::experimental
} // namespace _V1
} // namespace sycl
