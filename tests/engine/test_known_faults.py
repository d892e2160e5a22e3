"""Each known fault of an engine shows on the engine alone, and not on the driver with this engine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from c_hosts import ROOT, gcc, plain_environment
from processes import finished, fpgart, output

from fpgart.engine.choice import of_intel, pocl_libraries
from fpgart.engine.known_faults import (
    EMULATOR,
    FAULTS,
    INTEL,
    OCLGRIND,
    POCL,
    KnownFault,
    Product,
    faults_of,
    product_of,
)

HOSTS = ROOT / "tests" / "engine_faults"
FETCHED = ROOT / "build" / "engines"
LIMIT_S = 5
"""A host that has taken more of a processor, or has not ended six times as late, shows a fault on an engine alone."""
UNABLE = 77
"""The exit status of a host whose device lacks the extension that the fault is in."""
MakeHost = Callable[[str], Path]


@cache
def engines_here() -> dict[Product, Path]:
    """The engines that build kernels on this machine: those that the driver finds, and what `make engines` fetched."""
    fetched = [*FETCHED.glob("*/lib/libintelocl.so"), *FETCHED.glob("*/usr/lib/*/libpocl.so.2")]
    found: dict[Product, Path] = {}
    for path in (*pocl_libraries(), *of_intel("libintelocl.so"), *fetched):
        if path.is_file():
            told = fpgart("info", "--json", env=plain_environment(), FPGART_ENGINE=str(path), **libraries_of(path))
            engine = json.loads(output(told))["chosen_engine"]
            if engine["path"] and builds(path):
                found.setdefault(Product(*engine["product"]), path)
    return found


def builds(path: Path) -> bool:
    """True if the compiler of an engine knows the processor of this machine."""
    program = "import pathlib, sys; from fpgart.engine.driver import Driver; Driver(pathlib.Path(sys.argv[1]), True)"
    environment = {**plain_environment(), **libraries_of(path)}
    return finished(sys.executable, "-c", program, path, cwd=ROOT, env=environment).returncode == 0


def libraries_of(path: Path) -> dict[str, str]:
    """Returns the variable by which an engine that is not installed finds the libraries beside it."""
    return {"LD_LIBRARY_PATH": str(path.parent)} if FETCHED in path.parents else {}


@pytest.fixture
def host(tmp_path: Path) -> MakeHost:
    """`host(name)`: the program tests/engine_faults/`name`.c, linked with the system's loader."""

    return lambda name: gcc(name, tmp_path, "-lOpenCL", "-lpthread", folder="engine_faults")


def having(fault: KnownFault) -> Path:
    for product, path in engines_here().items():
        if fault.concerns(product):
            return path
    pytest.skip(f"no {fault.engine} from {fault.first} to {fault.last} on this machine; make engines fetches some")


def named(fault: KnownFault) -> str:
    return "-".join([fault.host, fault.engine.split()[-1], *(name for name, _ in fault.variables)])


def surroundings(fault: KnownFault, engine: Path, folder: Path) -> dict[str, str]:
    (folder / "kernels").mkdir()
    own = dict(fault.variables)
    kept = {} if "HOME" in own else {"POCL_CACHE_DIR": str(folder / "kernels")}
    return {**plain_environment(), **libraries_of(engine), **kept, **own}


def skip_if_unable(status: int) -> None:
    if status == UNABLE:
        pytest.skip("this engine's device lacks the extension that the fault is in")


@pytest.mark.parametrize("fault", FAULTS, ids=named)
def test_the_engine_alone_has_the_fault(fault: KnownFault, host: MakeHost, tmp_path: Path) -> None:
    engine = having(fault)
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "only.icd").write_text(f"{engine}\n")
    environment = {**surroundings(fault, engine, tmp_path), "OCL_ICD_VENDORS": f"{vendors}/"}
    try:
        command = ["/bin/sh", "-c", f"ulimit -t {LIMIT_S}; exec {host(fault.host)}"]
        result = subprocess.run(command, env=environment, capture_output=True, timeout=6 * LIMIT_S)
    except subprocess.TimeoutExpired:
        return
    skip_if_unable(result.returncode)
    assert result.returncode or result.stderr, f"{fault.what}: this engine does not show it"


@pytest.mark.parametrize("fault", FAULTS, ids=named)
def test_the_driver_on_this_engine_does_not_have_the_fault(fault: KnownFault, host: MakeHost, tmp_path: Path) -> None:
    engine = having(fault)
    environment = surroundings(fault, engine, tmp_path)
    result = fpgart("run", "--engine", engine, "--", host(fault.host), env=environment)
    skip_if_unable(result.returncode)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("answers", "product"),
    [
        (("OpenCL 3.0 PoCL 3.0-rc2  Linux, Release, LLVM 14.0.6", "AuthenticAMD", "3.0-rc2"), (POCL, "3.0-rc2")),
        (("OpenCL 3.0 PoCL 3.1+debian  Linux", "AuthenticAMD", "3.1+debian"), (POCL, "3.1+debian")),
        (("OpenCL 3.1 LINUX", "Intel(R) Corporation", "2026.22.10.0.01"), (INTEL, "2026.22.10.0.01")),
        (
            ("OpenCL 1.2 Intel(R) FPGA SDK for OpenCL(TM), Version 20.3", "Intel(R) Corporation", "2024.18"),
            (EMULATOR, "2024.18"),
        ),
        (("OpenCL 1.2 (Oclgrind 21.10)", "University of Bristol", "21.10"), (OCLGRIND, "21.10")),
        (("OpenCL 3.0", "Another", "7"), ("Another", "7")),
        (("", "", ""), ("", "")),
    ],
)
def test_an_engine_is_named_by_its_answers(answers: tuple[str, str, str], product: tuple[str, str]) -> None:
    assert product_of(*answers) == product


@pytest.mark.parametrize(
    ("host", "version", "has_fault"),
    [
        *(("binary_of_linked", version, True) for version in ("3.0-rc2", "3.0")),
        *(("binary_of_linked", version, False) for version in ("2.9", "3.1+debian", "")),
        *(("opencl_c_2", version, True) for version in ("4.0", "5.0", "6.0")),
        *(("opencl_c_2", version, False) for version in ("3.1", "6.1", "7.0")),
    ],
)
def test_a_fault_belongs_to_its_versions(host: str, version: str, has_fault: bool) -> None:
    assert (host in {fault.host for fault in faults_of(Product(POCL, version))}) is has_fault


def test_every_host_belongs_to_a_fault() -> None:
    assert {path.stem for path in HOSTS.glob("*.c")} == {fault.host for fault in FAULTS}
