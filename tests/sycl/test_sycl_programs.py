"""SYCL programs for FPGAs, compiled by `icpx` and run on Intel's emulator, alone and as engine.

They need the packages of fpgart[sycl] and clang++; where those are missing, the tests are skipped.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import fpgart, output, quiet_output
from sycl_builds import NEEDS_COMPILERS, Icpx, alone, icpx_in, on_board

PIPES = """\
#include <sycl/sycl.hpp>
#include <sycl/ext/intel/fpga_extensions.hpp>
#include <iostream>
#include <vector>
class Producer; class Consumer; class Between;
using Pipe = sycl::ext::intel::pipe<Between, int, 8>;
int main() {
  sycl::queue queue{sycl::accelerator_selector_v, sycl::property::queue::enable_profiling{}};
  constexpr int count = 64;
  std::vector<int> from(count, 7), to(count);
  {
    sycl::buffer a(from), b(to);
    queue.submit([&](sycl::handler &h) {
      sycl::accessor in{a, h, sycl::read_only};
      h.single_task<Producer>([=] { for (int i = 0; i < count; i++) Pipe::write(in[i]); });
    });
    queue.submit([&](sycl::handler &h) {
      sycl::accessor out{b, h, sycl::write_only};
      h.single_task<Consumer>([=] { for (int i = 0; i < count; i++) out[i] = 3 * Pipe::read() + i; });
    });
  }
  for (int i = 0; i < count; i++)
    if (to[i] != 21 + i) return 1;
  std::cout << "PASSED" << std::endl;
}
"""
REQUIRED = """\
#include <sycl/sycl.hpp>
#include <iostream>
class Required;
int main() {
  sycl::queue queue{sycl::accelerator_selector_v};
  int *to = sycl::malloc_shared<int>(1, queue);
  auto launch = [&](int size) {
    queue.parallel_for<Required>(sycl::nd_range<1>(16, size), [=](sycl::nd_item<1>)
        [[sycl::reqd_work_group_size(8)]] [[sycl::reqd_sub_group_size(8)]] { *to = 42; }).wait();
  };
  auto kernel = sycl::get_kernel_bundle<Required, sycl::bundle_state::executable>(queue.get_context())
                    .get_kernel(sycl::get_kernel_id<Required>());
  namespace of = sycl::info::kernel_device_specific;
  std::cout << kernel.get_info<of::compile_work_group_size>(queue.get_device())[0] << " "
            << kernel.get_info<of::compile_sub_group_size>(queue.get_device()) << std::endl;
  launch(8);
  std::cout << *to << std::endl;
  try { launch(4); } catch (const sycl::exception &) { std::cout << "refused" << std::endl; }
  sycl::free(to, queue);
}
"""
SPECIALIZED = """\
#include <sycl/sycl.hpp>
#include <iostream>
struct Range { char before; double step; };
struct Settings { short first; Range range; int bounds[2]; char last; };
constexpr sycl::specialization_id<int> count{7}, zero{0};
constexpr sycl::specialization_id<double> scale{0.25};
constexpr sycl::specialization_id<bool> flag{true};
constexpr sycl::specialization_id<Settings> settings{Settings{-3, {1, 2.5}, {0, 4}, 'x'}};
int main(int words, char **) {
  sycl::queue queue{sycl::accelerator_selector_v};
  double *to = sycl::malloc_shared<double>(9, queue);
  queue.submit([&](sycl::handler &handler) {
    if (words > 1) {
      handler.set_specialization_constant<count>(8);
      handler.set_specialization_constant<zero>(9);
      handler.set_specialization_constant<flag>(false);
      handler.set_specialization_constant<settings>(Settings{-3, {1, 3.5}, {-5, 6}, 'y'});
    }
    handler.single_task<class Specialized>([=](sycl::kernel_handler h) {
      to[0] = h.get_specialization_constant<count>();
      to[1] = h.get_specialization_constant<zero>();
      to[2] = h.get_specialization_constant<scale>();
      to[3] = h.get_specialization_constant<flag>() ? 1 : 0;
      const auto all = h.get_specialization_constant<settings>();
      to[4] = all.first;
      to[5] = all.range.step;
      to[6] = all.last;
      to[7] = all.bounds[0];
      to[8] = all.bounds[1];
    });
  }).wait();
  for (int i = 0; i < 8; i++) std::cout << to[i] << " ";
  std::cout << to[8] << std::endl;
  sycl::free(to, queue);
}
"""
FEATURES = """\
#include <sycl/sycl.hpp>
#include <sycl/ext/intel/fpga_extensions.hpp>
#include <sycl/ext/intel/ac_types/ac_complex.hpp>
#include <sycl/ext/intel/ac_types/ac_fixed_math.hpp>
#include <sycl/ext/intel/prototype/pipes_ext.hpp>
#include <cmath>
#include <complex>
#include <iostream>
namespace ex = sycl::ext::intel::experimental;
namespace one = sycl::ext::oneapi::experimental;
using Beat = ex::StreamingBeat<int, true, false>;
class InId; class OutId;
using In = ex::pipe<InId, Beat, 4>;
using Out = ex::pipe<OutId, int, 16>;
one::device_global<int[4], decltype(one::properties(one::device_image_scope, one::host_access_read_write))> weights;
int triple(int x) { return 3 * x; }
using Aligned = decltype(one::properties(one::alignment<16>));
static_assert(one::detail::HasAlign<Aligned>::value && !one::detail::HasAlign<one::empty_properties_t>::value);
static_assert(one::detail::GetAlignFromPropList<Aligned>::value == 16);
static_assert(one::detail::GetAlignFromPropList<one::empty_properties_t>::value == 0);
struct Functor {  // its get() is not const, as Intel's compilers for FPGAs had it
  void operator()() const {
    bool more = true;
    while (more) {
      Beat beat = In::read();
      more = !beat.eop;
      Out::write(beat.data + 1);
    }
  }
  auto get(one::properties_tag) { return one::properties{}; }
};
template <int Width> bool wide() {
  ac_int<Width, false> x = 1;
  x <<= Width - 1;
  x >>= Width - 1;
  return x == 1;
}
int main() {
  sycl::queue q{sycl::accelerator_selector_v};
  bool moved = true;
  Out::read(q, moved);
  std::cout << "empty " << moved << std::endl;
  auto copied = q.single_task<class Copy>(Functor{});
  for (int i = 0; i < 5; i++) In::write(q, Beat(i, i == 0, i == 4));
  for (int i = 0; i < 5; i++) std::cout << Out::read(q) << " ";
  copied.wait();
  int numbers[4] = {1, 2, 3, 4};
  q.copy(numbers, weights).wait();
  double *d = sycl::malloc_shared<double>(10, q);
  float half = 0.5f;
  q.single_task<class Sums>([=] {
    ex::task_sequence<triple> tasks;
    for (int i = 0; i < 4; i++) tasks.async(weights[i]);
    d[0] = tasks.get();
    d[1] = tasks.get() + tasks.get() + tasks.get();
    weights[1] = 20;
    d[2] = wide<1>() + wide<7>() + wide<64>() + wide<65>() + wide<2048>();
    constexpr ac_fixed<10, 3, true> fixed = 0.5;
    d[3] = cos_fixed(fixed).to_double();
    ac_complex<int> z(1, 2);
    d[4] = (z * z).i();
    d[5] = std::floor(10 * std::exp(std::pow(half, 2.f)));
    std::complex<float> c(1, half);
    d[6] = (c * c).imag();
  }).wait();
  q.copy(weights, numbers).wait();
  for (int i = 0; i < 7; i++) std::cout << d[i] << " ";
  std::cout << numbers[1] << std::endl;
}
"""
FEATURES_SAY = ["empty 0", "1 2 3 4 5 3 27 5 0.875 4 12 1 20"]
PARTS = """\
#include <sycl/sycl.hpp>
#include <sycl/ext/intel/fpga_extensions.hpp>
#include <iostream>
class Parts; class Whole;
using Between = sycl::ext::intel::pipe<class BetweenId, int, 64>;
int main() {
  sycl::queue queue{sycl::accelerator_selector_v};
  constexpr int count = 500, parts = 40;
  constexpr unsigned copies = 2;
  int *out = sycl::malloc_host<int>(count * parts, queue);
  auto whole = queue.single_task<Whole>([=] {
    [[intel::initiation_interval(copies)]] for (int i = 0; i < count * parts; i++) out[i] = Between::read();
  });
  for (int part = 0; part < parts; part++)
    queue.single_task<Parts>([=]() [[intel::scheduler_target_fmax_mhz(copies)]] {
      for (int i = 0; i < count; i++) Between::write(part * count + i);
    });
  whole.wait();
  int wrong = 0;
  for (int i = 0; i < count * parts; i++) wrong += out[i] != i;
  std::cout << wrong << " wrong" << std::endl;
}
"""
REPORTED = """\
#include <sycl/sycl.hpp>
#include <sycl/ext/intel/fpga_extensions.hpp>
class Reported; class Id;
using Pipe = sycl::ext::intel::pipe<Id, int, 4>;
int main(int count, char **) {
  sycl::queue queue{sycl::accelerator_selector_v};
  sycl::buffer<int> buffer(64);
  queue.submit([&](sycl::handler &h) {
    sycl::ext::oneapi::accessor_property_list places{sycl::ext::intel::buffer_location<1>};
    sycl::accessor in{buffer, h, sycl::read_only, places};
    h.single_task<Reported>([=] {
      [[intel::numbanks(2)]] int lines[64];
      [[intel::initiation_interval(3)]] for (int i = 0; i < count; i++) {
        for (int j = 0; j < 64; j++) lines[j] = in[i * j];
        Pipe::write(lines[i]);
      }
    });
  });
}
"""
PLACED = """\
#include <sycl/sycl.hpp>
#include <sycl/ext/intel/fpga_extensions.hpp>
#include <iostream>
#include <vector>
namespace intel = sycl::ext::intel;
namespace one = sycl::ext::oneapi;
using one::accessor_property_list;
namespace usm = sycl::ext::intel::experimental::property::usm;
using Place = decltype(one::experimental::properties{intel::experimental::buffer_location<0>});
class Places;
struct Annotated {
  one::experimental::annotated_arg<int *, Place> numbers;
  void operator()() const { for (int i = 0; i < 64; i++) numbers[i] += 7; }
};
int main() {
  sycl::queue queue{sycl::accelerator_selector_v};
  constexpr int N = 64;
  std::vector<int> a(N, 1), b(N), c(N, 5);
  {
    sycl::buffer in(a), out(b);
    sycl::buffer<int> bank(c.data(), N, {sycl::property::buffer::mem_channel{2}});
    queue.submit([&](sycl::handler &h) {
      sycl::accessor x{in, h, sycl::read_only, accessor_property_list{intel::buffer_location<1>}};
      sycl::accessor y{out, h, sycl::write_only, accessor_property_list{intel::buffer_location<0>}};
      sycl::accessor z{bank, h, sycl::read_only};
      h.single_task<Places>([=] { for (int i = 0; i < N; i++) y[i] = x[i] + z[i]; });
    });
  }
  std::cout << b[N - 1] << std::endl;
  if (!queue.get_device().has(sycl::aspect::usm_device_allocations)) return 0;
  int *device = sycl::malloc_device<int>(N, queue, {usm::buffer_location(0)});
  queue.copy(b.data(), device, N).wait();
  queue.single_task(Annotated{device}).wait();
  queue.copy(device, b.data(), N).wait();
  std::cout << b[0] << std::endl;
  sycl::free(device, queue);
}
"""
ANNOTATED = """\
#include <sycl/sycl.hpp>
#include <sycl/ext/intel/fpga_extensions.hpp>
#include <iostream>
namespace intel = sycl::ext::intel::experimental;
namespace one = sycl::ext::oneapi::experimental;
using Target = one::annotated_ptr<int, decltype(one::properties{intel::buffer_location<1>, intel::awidth<32>})>;
constexpr int N = 64;
struct Adds {
  Target to;
  one::annotated_arg<int *, decltype(one::properties{intel::buffer_location<0>, intel::stable})> from;
  void operator()() const { for (int i = 0; i < N; i++) to[i] = from[i] + 7; }
};
int main(int count, char **) {
  sycl::queue queue{sycl::accelerator_selector_v};
  int *first = sycl::malloc_device<int>(N, queue, {intel::property::usm::buffer_location(0)});
  int *second = sycl::malloc_device<int>(N, queue, {intel::property::usm::buffer_location(1)});
  auto third = one::malloc_device_annotated<int>(N, queue, one::properties{intel::buffer_location<1>});
  queue.fill(first, 3, N).wait();
  int *to = count > 1 ? first : second;
  queue.single_task(Adds{Target{to}, first}).wait();
  queue.single_task<class Within>([=] {
    one::annotated_ptr from{to, one::properties{intel::buffer_location<1>}};
    for (int i = 0; i < N; i++) third[i] = from[i];
  }).wait();
  int result = 0;
  queue.copy(third.get(), &result, 1).wait();
  std::cout << result << std::endl;
  sycl::free(first, queue);
  sycl::free(second, queue);
  one::free(third, queue);
}
"""
BANKS = """\
#include <sycl/sycl.hpp>
using namespace sycl;
class Add;
int main() {
  queue q{accelerator_selector_v};
  constexpr int N = 1 << 16;
  buffer<float16> a{range<1>(N)}, b{range<1>(N)};
  q.submit([&](handler &h) {
    accessor x{a, h, read_write};
    accessor y{b, h, read_write};
    h.parallel_for<Add>(range<1>(N), [=](id<1> i) { y[i] += x[i]; });
  });
}
"""
MISTAKES = """\
#include <sycl/sycl.hpp>
#include <sycl/ext/intel/fpga_extensions.hpp>
#include <iostream>
#include <string>
using namespace sycl;
using ext::oneapi::accessor_property_list;
constexpr int N = 1 << 16;
class InDdr; class InHbm; class Random;
int main(int, char **words) {
  std::string mistake = words[1];
  queue q{accelerator_selector_v};
  if (mistake == "advice") {
    buffer<int> moved{range<1>(N)};
    for (int turn = 0; turn < 3; turn++) {
      q.submit([&](handler &h) {  // in DDR
        accessor x{moved, h, read_write, accessor_property_list{ext::intel::buffer_location<0>}};
        h.single_task<InDdr>([=] { for (int i = 0; i < N; i++) x[i] += 1; });
      });
      q.submit([&](handler &h) {  // in HBM
        accessor x{moved, h, read_write, accessor_property_list{ext::intel::buffer_location<1>}};
        h.single_task<InHbm>([=] { for (int i = 0; i < N; i++) x[i] += 2; });
      });
    }
    int *from = malloc_host<int>(N, q), *to = malloc_host<int>(N, q);
    q.single_task<Random>([=] { for (int i = 0; i < N; i++) to[i] = from[from[i]]; }).wait();
    free(from, q);
    free(to, q);
  } else if (mistake == "device") {
    int *numbers = malloc_device<int>(N, q);  // device
    numbers[1] = 7;  // on the host
    free(numbers, q);
  } else {
    int *numbers = mistake == "system" ? new int[N] : malloc_host<int>(N, q);  // host
    if (mistake == "freed") free(numbers, q);
    try {
      q.single_task<class Refused>([=] { numbers[0] = 1; }).wait();  // refused
    } catch (const exception &) {
    }
    if (mistake == "system") delete[] numbers;
  }
}
"""
REFUSED = """\
#include <sycl/sycl.hpp>
int main() {
  sycl::queue().single_task<class Bad>([] { throw 1; });
}
"""
TIMED = """\
#include <sycl/sycl.hpp>
#include <sycl/ext/intel/fpga_extensions.hpp>
#include <iostream>
#include <string>
using namespace sycl;
constexpr int N = 16384;
buffer<int> a(N), b(N);
template <class Body> void run(queue &q, Body body) {
  auto event = q.submit([&](handler &h) {
    accessor x{a, h, read_write};
    accessor y{b, h, read_write};
    body(h, x, y);
  });
  using namespace info::event_profiling;
  std::cout << event.template get_profiling_info<command_end>() - event.template get_profiling_info<command_start>()
            << std::endl;
}
int main(int, char **words) {
  queue q{accelerator_selector_v, property::queue::enable_profiling{}};
  int count = std::stoi(words[1]);
  run(q, [=](handler &h, auto x, auto y) {
    h.single_task<class Plain>([=] { for (int i = 0; i < count; i++) y[i] = x[i] + 1; });
  });
  run(q, [=](handler &h, auto x, auto y) {
    h.single_task<class Interval>([=] {
      [[intel::initiation_interval(3)]] for (int i = 0; i < count; i++) y[i] = x[i] + 1;
    });
  });
  run(q, [=](handler &h, auto x, auto y) {
    h.single_task<class Unrolled>([=] {
#pragma unroll 4
      for (int i = 0; i < N; i++) y[i] = x[i] + 1;
    });
  });
  run(q, [=](handler &h, auto x, auto y) {
    h.single_task<class Short>([=] {
      for (int i = 0; i < count; i++) {
#pragma nounroll
        for (int j = 0; j < 6; j++) y[j] += x[i];
      }
    });
  });
  run(q, [=](handler &h, auto x, auto y) {
    h.single_task<class Strided>([=] {
      for (int i = 0; i < 128; i++) for (int j = 0; j < 128; j++) y[i * 128 + j] = x[j * 128 + i];
    });
  });
  run(q, [=](handler &h, auto x, auto y) {
    h.single_task<class Random>([=] { for (int i = 0; i < count; i++) y[x[i] & 1023] = i; });
  });
  run(q, [=](handler &h, auto x, auto y) {
    h.parallel_for<class Range>(range<1>(N - 1), [=](id<1> i) { y[i] = x[i]; });
  });
  run(q, [=](handler &h, auto x, auto y) {
    h.parallel_for<class Simd>(nd_range<1>(N, 64), [=](nd_item<1> item)
        [[intel::num_simd_work_items(4), sycl::reqd_work_group_size(1, 1, 64)]] {
      y[item.get_global_id(0)] = x[item.get_global_id(0)];
    });
  });
}
"""
TIMED_IN_OPENCL_C = """\
#define KERNEL(name) kernel void name(global int *restrict x, global int *restrict y, int count)
KERNEL(Plain) { for (int i = 0; i < count; i++) y[i] = x[i] + 1; }
KERNEL(Interval) {
  #pragma ii 3
  for (int i = 0; i < count; i++) y[i] = x[i] + 1;
}
KERNEL(Unrolled) {
  #pragma unroll 4
  for (int i = 0; i < 16384; i++) y[i] = x[i] + 1;
}
KERNEL(Short) { for (int i = 0; i < count; i++) for (int j = 0; j < 6; j++) y[j] += x[i]; }
KERNEL(Strided) { for (int i = 0; i < 128; i++) for (int j = 0; j < 128; j++) y[i * 128 + j] = x[j * 128 + i]; }
KERNEL(Random) { for (int i = 0; i < count; i++) y[x[i] & 1023] = i; }
KERNEL(Range) { y[get_global_id(0)] = x[get_global_id(0)]; }
__attribute__((num_simd_work_items(4), reqd_work_group_size(64, 1, 1)))
KERNEL(Simd) { y[get_global_id(0)] = x[get_global_id(0)]; }
"""
TIMED_HOST = """\
import sys
import numpy
import pyopencl as cl
N = 16384
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
program = cl.Program(context, sys.argv[2]).build(cache_dir=False)
x, y = (cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * N) for _ in range(2))
sizes = {"Range": (N - 1, None), "Simd": (N, (64,))}
for name in "Plain Interval Unrolled Short Strided Random Range Simd".split():
    size, local = sizes.get(name, (1, (1,)))
    event = cl.Kernel(program, name)(queue, (size,), local, x, y, numpy.int32(int(sys.argv[1])))
    event.wait()
    print(event.profile.end - event.profile.start)
"""
TWO_MEMORIES = Path(__file__).resolve().parents[1] / "checks" / "two_memories.xml"
PLAIN = "int main() { return 0; }\n"


pytestmark = NEEDS_COMPILERS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sycl")


@pytest.fixture(scope="module")
def icpx(folder: Path) -> Icpx:
    return icpx_in(folder)


@pytest.fixture(scope="module")
def pipes(folder: Path, icpx: Icpx) -> Path:
    """The program PIPES, by way of an object and a static library."""
    (folder / "pipes.cpp").write_text(PIPES)
    made = icpx("-fsycl", "-fintelfpga", "-Wall", "-MD", "-c", "pipes.cpp", "-o", "pipes.o")
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    subprocess.run(["ar", "rcs", "libpipes.a", "pipes.o"], cwd=folder, check=True)
    quiet_output(icpx("-fintelfpga", "-Wl,--whole-archive", "-L.", "-lpipes", "-Wl,--no-whole-archive", "-o", "pipes"))
    assert not list((folder / "temporary").iterdir())
    return folder / "pipes"


@pytest.fixture(scope="module")
def features(folder: Path, icpx: Icpx) -> Path:
    (folder / "features.cpp").write_text(FEATURES)
    output(icpx("-fintelfpga", "-qactypes", "features.cpp", "-o", "features"))
    return folder / "features"


@pytest.fixture(scope="module")
def mistakes(folder: Path, icpx: Icpx) -> Path:
    (folder / "mistakes.cpp").write_text(MISTAKES)
    quiet_output(icpx("-g", "-fintelfpga", "mistakes.cpp", "-o", "mistakes"))
    return folder / "mistakes"


def place_of(comment: str) -> str:
    """Returns the place of the line of MISTAKES with a comment at its end, as reports name it."""
    lines = enumerate(MISTAKES.splitlines(), 1)
    return f"mistakes.cpp:{next(number for number, line in lines if line.endswith(f'// {comment}'))} in main"


@pytest.fixture(scope="module")
def timed(folder: Path, icpx: Icpx) -> Path:
    (folder / "timed.cpp").write_text(TIMED)
    quiet_output(icpx("-fintelfpga", "timed.cpp", "-o", "timed"))
    return folder / "timed"


def test_two_kernels_and_a_pipe_on_the_emulator_alone(pipes: Path) -> None:
    assert alone(pipes) == "PASSED\n"


@pytest.mark.parametrize(("board", "bank"), [("a10_ref", "DDR bank 1"), ("usm_s10", "device interleaved over 4 banks")])
def test_the_report_names_both_kernels_the_pipe_the_banks_and_each_copy(pipes: Path, board: str, bank: str) -> None:
    trace = pipes.parent / f"{board}.json"
    assert on_board(pipes, FPGART_BOARD=board, FPGART_TRACE=str(trace)) == "PASSED\n"
    told = output(fpgart("report", trace))
    assert "engine emulator" in told
    assert "device 0: Producer: 1 run" in told
    assert "device 0: Consumer: 1 run" in told
    assert "device 0: sycl::ext::intel::pipe<Between, int, 8>: 8 packets of 4 bytes; kernels " in told
    (pipe,) = (line for line in told.splitlines() if "pipe<" in line)
    assert sorted(pipe.partition("; kernels ")[2].split(", ")) == ["Consumer", "Producer"]
    assert told.count(f"device 0, {bank}") == 2
    assert "buffer 1, 256 bytes: WRITE_BUFFER; the host's command on device 0" in told
    assert "buffer 2, 256 bytes: READ_BUFFER; the host's command on device 0" in told


def test_the_report_of_an_early_image_names_arguments_pipes_memories_and_loops(folder: Path, icpx: Icpx) -> None:
    (folder / "reported.cpp").write_text(REPORTED)
    words = ["-fsycl", "-fintelfpga", "-Xshardware", "-Xstarget=hetero", "-fsycl-link=early", "reported.cpp"]
    output(icpx(*words, "-o", "reported.report"))
    page = (folder / "reported.report.prj" / "reports" / "report.html").read_text()
    rows = re.sub(r"(<[^>]*>)+", "|", page)
    assert "|For board |hetero|" in rows
    assert "|Reported|" in rows
    assert "|count|int|value|4 bytes|" in rows
    assert "|in|int*|global, in HBM|8 bytes|" in rows
    assert "|sycl::ext::intel::pipe&lt;Id, int, 4&gt;|4 bytes|4|Reported|" in rows
    assert "|Reported|lines|numbanks 2|" in rows
    assert "|Reported|initiation_interval 3|" in rows


def test_an_early_image_without_kernels_is_refused(folder: Path, icpx: Icpx) -> None:
    (folder / "empty.cpp").write_text(PLAIN)
    made = icpx("-fsycl", "-fsycl-link=early", "empty.cpp", "-o", "empty.a")
    assert (made.returncode, made.stderr.count("\n")) == (1, 1)
    assert "there is no kernel" in made.stderr
    assert not (folder / "empty.a").exists()


def test_dependencies_are_files_that_stay(pipes: Path) -> None:
    text = (pipes.parent / "pipes.d").read_text()
    assert "pipes.cpp" in text
    assert "icpx-" not in text


@pytest.mark.parametrize(
    ("words", "said"), [((), "7 0 0.25 1 -3 2.5 120 0 4\n"), (("set",), "8 9 0.25 0 -3 3.5 121 -5 6\n")]
)
def test_specialization_constants_have_their_default_values_or_those_of_the_host(
    folder: Path, icpx: Icpx, words: tuple[str, ...], said: str
) -> None:
    (folder / "specialized.cpp").write_text(SPECIALIZED)
    quiet_output(icpx("-fintelfpga", "specialized.cpp", "-o", "specialized"))
    assert on_board(folder / "specialized", *words) == said
    assert alone(folder / "specialized", *words) == said


def test_required_sizes_of_groups_are_those_of_the_emulator_alone(folder: Path, icpx: Icpx) -> None:
    (folder / "required.cpp").write_text(REQUIRED)
    quiet_output(icpx("-fintelfpga", "required.cpp", "-o", "required"))
    assert on_board(folder / "required") == alone(folder / "required") == "8 8\n42\nrefused\n"


@pytest.mark.parametrize("run", [alone, on_board])
def test_host_pipes_device_globals_tasks_and_numbers(features: Path, run: Callable[[Path], str]) -> None:
    assert [line.strip() for line in run(features).splitlines()] == FEATURES_SAY


@pytest.mark.parametrize(
    ("board", "said", "places"),
    [
        ("hetero", "6\n", {"buffer 1": "HBM bank 1", "buffer 2": "DDR interleaved", "buffer 3": "DDR interleaved"}),
        (
            "a10_ref",
            "6\n13\n",
            {
                "buffer 1": "DDR bank 1",
                "buffer 2": "DDR bank 1",
                "buffer 3": "DDR bank 2",
                "device allocation 4": "DDR",
            },
        ),
    ],
)
def test_memories_and_banks_that_a_program_names_are_those_of_the_board(
    folder: Path, icpx: Icpx, board: str, said: str, places: dict[str, str]
) -> None:
    """Contents are written where the kernel needs them, so that nothing is copied between memories.

    The emulator's platform ignores the location 1 on a board with one memory.
    """
    (folder / "placed.cpp").write_text(PLACED)
    quiet_output(icpx("-fintelfpga", "placed.cpp", "-o", "placed"))
    trace = folder / f"placed-{board}.json"
    options = {"FPGART_BOARD": board, "FPGART_PLATFORM": "emulator", "FPGART_TRACE": str(trace)}
    assert on_board(folder / "placed", **options) == said
    told = output(fpgart("report", trace))
    for name, place in places.items():
        assert re.search(rf"  {name}: .*(\n *)?.*device 0, {place}", told), told
    assert " -> " not in told


def test_annotated_pointers_lead_to_the_memories_of_the_board(folder: Path, icpx: Icpx) -> None:
    (folder / "annotated.cpp").write_text(ANNOTATED)
    quiet_output(icpx("-fintelfpga", "annotated.cpp", "-o", "annotated"))
    trace, findings = folder / "annotated.json", folder / "annotated.findings"
    options = {"FPGART_BOARD": str(TWO_MEMORIES), "FPGART_CHECK": "fpga"}
    assert on_board(folder / "annotated", **options, FPGART_TRACE=str(trace)) == "10\n"
    told = output(fpgart("report", trace))
    for number, memory in ((1, "DDR"), (2, "HBM"), (3, "HBM")):
        assert f"  device allocation {number}: 256 bytes, device 0, {memory} bank 1" in told
    assert "\nfindings" not in told
    on_board(folder / "annotated", "wrong", **options, FPGART_FINDINGS=str(findings))
    (found,) = (json.loads(line) for line in findings.read_text().splitlines())
    assert found["rule"] == "pointer into another memory than the kernel's"
    assert found["words"].startswith("argument 0 ('to') of kernel 'Adds' has the buffer_location of HBM, and is a ")


def test_the_advice_on_banks_is_in_the_words_of_sycl(folder: Path, icpx: Icpx) -> None:
    (folder / "banks.cpp").write_text(BANKS)
    quiet_output(icpx("-fintelfpga", "banks.cpp", "-o", "banks"))
    trace = folder / "banks.json"
    on_board(folder / "banks", FPGART_BOARD="a10_ref", FPGART_TRACE=str(trace))
    assert (
        "put buffers 1, 2 into different banks of memory 'DDR' (the property mem_channel of buffers): kernel 'Add' uses"
    ) in output(fpgart("report", trace))


def test_advice_on_moves_between_memories_and_on_accesses_to_the_hosts(mistakes: Path) -> None:
    trace = mistakes.parent / "mistakes.json"
    on_board(mistakes, "advice", FPGART_BOARD=str(TWO_MEMORIES), FPGART_TIME="model", FPGART_TRACE=str(trace))
    told = output(fpgart("report", trace))
    assert (
        "give all accessors to buffer 1 the same buffer_location, or keep a buffer in each memory; it moves back and "
        "forth: argument 0 ('x') of kernel 'InDdr' needs it in device 0, DDR, argument 0 ('x') of kernel "
        "'InHbm' needs it in device 0, HBM: 4 copies saved"
    ) in told
    places = [line.partition(", ")[2] for line in told.splitlines() if line.startswith("    clEnqueueNDRangeKernel, ")]
    assert {place.rpartition("/")[2] for place in places} == {place_of("in DDR"), place_of("in HBM")}
    assert "kernel 'Random': from[from[i0]] is accessed at addresses that come from memory" in told


@pytest.mark.parametrize(
    ("mistake", "rule", "object", "made", "misused"),
    [
        ("device", "device memory accessed by the host", "device allocation 1 of ", "device", "on the host"),
        ("freed", "use after free", "host allocation 1 of ", "host", "refused"),
        ("system", "pointer that the device may not use", "0x", "", "refused"),
    ],
)
def test_checks_name_the_lines_of_a_sycl_program(
    mistakes: Path, mistake: str, rule: str, object: str, made: str, misused: str
) -> None:
    file = mistakes.parent / f"{mistake}.findings"
    on_board(mistakes, mistake, FPGART_CHECK="usm", FPGART_FINDINGS=str(file))
    (found,) = (json.loads(line) for line in file.read_text().splitlines())
    assert found["rule"] == rule
    assert found["object"].startswith(object)
    assert found["misused_at"]["place"].endswith(place_of(misused))
    assert not made or found["made_at"]["place"].endswith(place_of(made))


@pytest.mark.parametrize("board", ["usm_s10", "a10_ref"])
def test_a_kernel_takes_the_same_simulated_time_as_in_opencl_c(timed: Path, board: str) -> None:
    """But for the depth of its pipeline, which counts the operations that the compiler has left."""
    options = {"FPGART_BOARD": board, "FPGART_TIME": "model"}
    count = "10000"
    in_sycl = [int(line) for line in on_board(timed, count, **options).split()]
    words = ["-W", "ignore", "-c", TIMED_HOST, count, TIMED_IN_OPENCL_C]
    in_opencl_c = [int(line) for line in on_board(Path(sys.executable), *words, **options).split()]
    cycle = 1000 / 300
    assert len(in_sycl) == 8
    assert max(abs(one - other) for one, other in zip(in_sycl, in_opencl_c, strict=True)) < 12 * cycle
    assert round((in_sycl[1] - in_sycl[0]) / cycle) == 20_000, "the initiation interval"


def test_launches_of_one_kernel_take_turns_at_its_pipe(folder: Path, icpx: Icpx) -> None:
    """Its attributes name constants, too, which the device compiler would capture and clang++ would not."""
    (folder / "parts.cpp").write_text(PARTS)
    quiet_output(icpx("-fintelfpga", "parts.cpp", "-o", "parts"))
    assert on_board(folder / "parts") == "0 wrong\n"


def test_a_kernel_that_is_refused_is_told_with_its_line(folder: Path, icpx: Icpx) -> None:
    (folder / "refused.cpp").write_text(REFUSED)
    made = icpx("-fsycl", "refused.cpp", "-o", "refused")
    assert made.returncode == 1
    assert "refused.cpp:3:" in made.stderr
    assert "error: SYCL kernel cannot use exceptions" in made.stderr
    assert not list((folder / "temporary").iterdir())
    assert not (folder / "refused").exists()


def test_a_source_without_kernels_is_a_program(folder: Path, icpx: Icpx) -> None:
    (folder / "plain.cpp").write_text(PLAIN)
    made = icpx("-v", "-fsycl", "plain.cpp", "-o", "plain")
    assert made.returncode == 0, made.stderr
    links = [line for line in made.stderr.splitlines() if "clang++" in line and " -lsycl " in line]
    assert len(links) == 1, "without images, a second link would add nothing"
    assert subprocess.run([folder / "plain"]).returncode == 0


def test_doctor_has_a_line_for_each_piece() -> None:
    told = json.loads(fpgart("doctor", "--json").stdout)
    states = {check["name"]: check["state"] for check in told["checks"]}
    assert [states[name] for name in ("icpx", "ac_types", "emulator")] == ["ok"] * 3
