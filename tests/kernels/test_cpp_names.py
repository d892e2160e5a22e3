# SPDX-License-Identifier: Apache-2.0
"""Functions of C++ hosts have the names of the source, also where there is no debug information."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from processes import ROOT, fpgart

from fpgart.kernels.cpp_names import kernel_name, plain, without_parameters

LIBRARY = ROOT / "fpgart" / "libfpgart.so"
HOST = """
#include <CL/cl.h>
namespace work {
template <class T> struct Board {
    cl_context context;
    __attribute__((noinline)) cl_mem make(T size) const;
};
template <class T> cl_mem Board<T>::make(T size) const
{
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, size, nullptr, nullptr);
    asm volatile("" ::: "memory");
    return made;
}
}
int main()
{
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, nullptr);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
    work::Board<unsigned> board{clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr)};
    board.make(64);
}
"""


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("main", "main"),
        ("_ZN4work3runEi", "work::run"),
        ("_ZNK4work5BoardIjE4makeEj", "work::Board<unsigned int>::make"),
        ("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f"),
        ("_ZNK1AclEPFviE", "A::operator()"),
        ("_Znonsense", "_Znonsense"),
    ],
)
def test_symbols_have_the_names_of_the_source(symbol: str, name: str) -> None:
    assert plain(symbol) == name


def test_only_parameters_are_cut() -> None:
    assert without_parameters("f(int (*)(char), g<(x)1>) const &") == "f"
    assert without_parameters("operator bool") == "operator bool"
    assert without_parameters("(x)") == "(x)"


def test_a_finding_names_a_member_function_without_debug_information(tmp_path: Path) -> None:
    source, host, findings = tmp_path / "host.cpp", tmp_path / "host", tmp_path / "findings"
    source.write_text(HOST)
    linked = [str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}"]
    subprocess.run(["g++", "-O1", f"-I{ROOT / 'include'}", str(source), "-o", str(host), *linked], check=True)
    assert fpgart("run", "--leaks", "--", host, FPGART_FINDINGS=str(findings)).returncode == 0
    leaks = [json.loads(line) for line in findings.read_text().splitlines()]
    (places,) = [leak["made_at"]["place"] for leak in leaks if leak["object"] == "cl_mem"]
    assert places == "work::Board<unsigned int>::make of host"


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZTS8Producer", "Producer"),
        ("_ZTSZ4mainE4Prod", "main::Prod"),
        ("_ZN4sycl3_V13ext5intel4pipeI3PIdiLi4EE9m_StorageE", "sycl::ext::intel::pipe<PId, int, 4>"),
        ("vector_add", "vector_add"),
    ],
)
def test_kernels_and_pipes_of_sycl_have_the_names_of_their_types(symbol: str, name: str) -> None:
    assert kernel_name(symbol) == name
