# SPDX-License-Identifier: Apache-2.0
"""Programs that DaCe makes into kernels and a host for Intel's boards: `dace_programs.py NAME` runs one and checks it.

DaCe writes the kernels and the host, compiles them with CMake, aoc and the C++ compiler, and loads what results. All
numbers are integers, or have few binary digits: no result is rounded, so all are equal to numpy's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import dace
import numpy as np
from dace.libraries.blas import Dot, Gemm, MatMul
from dace.transformation.dataflow import StreamingMemory
from dace.transformation.interstate import FPGATransformSDFG, InlineSDFG

PROGRAMS: dict[str, Callable[[], bool]] = {}
N = dace.symbol("N")
SIDE = 32


def program(function: Callable[[], bool]) -> Callable[[], bool]:
    PROGRAMS[function.__name__] = function
    return function


def numbers(*shape: int) -> Any:
    return np.random.default_rng(7).integers(-8, 9, shape).astype(np.float32)


def for_a_board(function: Any) -> Any:
    """Returns the graph of a program, with its arrays on the board and its maps in kernels."""
    graph = function.to_sdfg()
    if graph.apply_transformations(FPGATransformSDFG) != 1:
        sys.exit(f"{graph.name} cannot be transformed for a board")
    return graph


@program
def axpy() -> bool:
    """One kernel."""

    @dace.program(dace.float32, dace.float32[N], dace.float32[N])
    def kernel(a, x, y):  # type: ignore[no-untyped-def]
        y[:] = a * x + y

    x, y = numbers(1000), numbers(1000)
    right = 2 * x + y
    for_a_board(kernel)(a=np.float32(2), x=x, y=y, N=1000)
    return np.array_equal(y, right)


@program
def streams() -> bool:
    """Three kernels, joined by two channels: one reads the memory, one computes, one writes."""

    @dace.program(dace.float32[N], dace.float32[N])
    def kernel(x, y):  # type: ignore[no-untyped-def]
        for i in dace.map[0:N]:
            y[i] = 3 * x[i]

    graph = for_a_board(kernel)
    graph.apply_transformations_repeated(InlineSDFG)
    made = graph.apply_transformations_repeated(StreamingMemory, options={"storage": dace.StorageType.FPGA_Local})
    x, y = numbers(1000), numbers(1000)
    graph(x=x, y=y, N=1000)
    return made == 2 and np.array_equal(y, 3 * x)


@program
def dot() -> bool:
    """DaCe's library node for sums: partial sums in a loop without dependences."""

    @dace.program(dace.float32[1024], dace.float32[1024], dace.float32[1])
    def kernel(x, y, result):  # type: ignore[no-untyped-def]
        result[0] = np.dot(x, y)

    graph = for_a_board(kernel)
    Dot.default_implementation = "FPGA_PartialSums"
    graph.expand_library_nodes()
    x, y, result = numbers(1024), numbers(1024), np.zeros(1, np.float32)
    graph(x=x, y=y, result=result)
    return bool(result[0] == np.dot(x, y))


@program
def matrix_product() -> bool:
    """DaCe's library node for matrices: a systolic array of 32 elements, joined by arrays of channels."""

    @dace.program(dace.float32[SIDE, SIDE], dace.float32[SIDE, SIDE], dace.float32[SIDE, SIDE])
    def kernel(a, b, c):  # type: ignore[no-untyped-def]
        c[:] = a @ b

    graph = for_a_board(kernel)
    MatMul.default_implementation = "specialize"
    Gemm.default_implementation = "FPGA1DSystolic"
    graph.expand_library_nodes()
    # Channels have to be global, but would be in the function of a nested graph.
    graph.apply_transformations_repeated(InlineSDFG)
    a, b, c = numbers(SIDE, SIDE), numbers(SIDE, SIDE).T.copy(), np.zeros((SIDE, SIDE), np.float32)
    graph(a=a, b=b, c=c)
    return np.array_equal(c, a @ b)


@program
def jacobi() -> bool:
    """A kernel with a loop of steps: what a step has written into the board's memory, the next one reads."""

    @dace.program(dace.float32[64, 64], dace.float32[64, 64], dace.int32)
    def kernel(a, b, steps):  # type: ignore[no-untyped-def]
        for _ in range(steps):
            b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
            a[1:-1, 1:-1] = 0.25 * (b[:-2, 1:-1] + b[2:, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:])

    first = numbers(64, 64)
    a, b, right, other = first.copy(), first.copy(), first.copy(), first.copy()
    for_a_board(kernel)(a=a, b=b, steps=3)
    for _ in range(3):
        for into, of in ((other, right), (right, other)):
            into[1:-1, 1:-1] = 0.25 * (of[:-2, 1:-1] + of[2:, 1:-1] + of[1:-1, :-2] + of[1:-1, 2:])
    return np.array_equal(a, right)


if __name__ == "__main__":
    name = sys.argv[1]
    print(f"{name}: {'right' if PROGRAMS[name]() else 'wrong'}")
