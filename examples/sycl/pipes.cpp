// SPDX-License-Identifier: Apache-2.0
// Two kernels with a pipe between them: one squares numbers, the other adds neighbours. docs/sycl.md compiles and runs it.
#include <iostream>
#include <numeric>
#include <sycl/ext/intel/fpga_extensions.hpp>
#include <sycl/sycl.hpp>
#include <vector>

class Square;
class AddNeighbours;
using Squares = sycl::ext::intel::pipe<class SquaresId, int, 8>;

int main()
{
    constexpr int count = 1024;
    std::vector<int> numbers(count), sums(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    sycl::queue queue{sycl::accelerator_selector_v};
    std::cout << queue.get_device().get_info<sycl::info::device::name>() << std::endl;
    {
        sycl::buffer in(numbers), out(sums);
        queue.submit([&](sycl::handler &h) {
            sycl::accessor from{in, h, sycl::read_only};
            h.single_task<Square>([=] {
                for (int i = 0; i < count; i++)
                    Squares::write(from[i] * from[i]);
            });
        });
        queue.submit([&](sycl::handler &h) {
            sycl::accessor to{out, h, sycl::write_only, sycl::no_init};
            h.single_task<AddNeighbours>([=] {
                int before = 0;
                for (int i = 0; i < count; i++) {
                    const int square = Squares::read();
                    to[i] = before + square;
                    before = square;
                }
            });
        });
    }
    for (int i = 1; i < count; i++)
        if (sums[i] != (i - 1) * (i - 1) + i * i) {
            std::cout << "wrong at " << i << std::endl;
            return 1;
        }
    std::cout << "PASSED" << std::endl;
}
