# SPDX-License-Identifier: Apache-2.0
"""Which OpenCL driver the conformance tests run on: `--driver fpgart` (default), `pocl`, or a path."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import deviations

FOLDER = Path(__file__).resolve().parent
BUILD = "from opencl_api import Host, Loader; Host(Loader()).program('kernel void nothing(void) {}')"
DEBIAN_POCL = ("/usr/lib/x86_64-linux-gnu/libpocl.so.2", "/usr/lib/aarch64-linux-gnu/libpocl.so.2")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--driver",
        default="fpgart",
        metavar="fpgart|pocl|PATH.so",
        help="the OpenCL driver that the hosts see, and no other",
    )


def package_folders(*names: str) -> list[Path]:
    """Where installed packages lie, without importing them."""
    specs = [importlib.util.find_spec(name) for name in names]
    return [Path(spec.origin).parent for spec in specs if spec is not None and spec.origin]


def seen_alone(library: Path, vendors: Path) -> dict[str, str]:
    """The environment in which loaders find this one driver, which is written into the folder `vendors`."""
    (vendors / "only.icd").write_text(f"{library}\n")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OCL_ICD")}
    return {**inherited, "OCL_ICD_VENDORS": str(vendors)}


def builds_kernels(library: Path) -> bool:
    """Whether the driver's compiler serves this machine: an older LLVM refuses a processor that it does not know."""
    with tempfile.TemporaryDirectory() as vendors:
        environment = seen_alone(library, Path(vendors))
        probe = [sys.executable, "-c", BUILD]
        return not subprocess.run(probe, env=environment, cwd=FOLDER, capture_output=True).returncode


@cache
def find_driver(name: str) -> Path | None:
    """The shared library that `--driver` names; of PoCLs the first that builds a kernel here."""
    if name == "fpgart":
        root = Path(__file__).resolve().parent.parent / "fpgart"
        candidates = [folder / "libfpgart.so" for folder in (root, *package_folders("fpgart"))]
    elif name == "pocl":
        folders = package_folders("pyopencl", "pocl_binary_distribution")
        candidates = [path for folder in folders for path in sorted(folder.rglob("libpocl*.so*"))]
        candidates += map(Path, DEBIAN_POCL)
    else:
        candidates = [Path(name)]
    there = [path.resolve() for path in candidates if path.is_file()]
    return next((path for path in there if name != "pocl" or builds_kernels(path)), None)


@pytest.fixture(scope="session")
def driver_library(pytestconfig: pytest.Config) -> str:
    """Absolute path of the driver's shared library."""
    name = str(pytestconfig.getoption("--driver"))
    library = find_driver(name)
    if library is None:
        pytest.exit(f"--driver {name}: there is no such driver here, or none that builds a kernel", returncode=4)
    return str(library)


@pytest.fixture(scope="session")
def driver_environment(driver_library: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """For subprocesses: loaders find this one driver."""
    return seen_alone(Path(driver_library), tmp_path_factory.mktemp("vendors"))


@pytest.fixture(scope="session")
def is_fpgart(driver_library: str) -> bool:
    """Whether the driver promises what goes beyond the specification: no crash on garbage, fork, ..."""
    return Path(driver_library).name.startswith("libfpgart")


@pytest.fixture
def fpgart_alone(is_fpgart: bool) -> None:
    """For tests of what other drivers neither have nor promise."""
    if not is_fpgart:
        pytest.skip("other drivers do not have it, or do not promise it")


def plain_name(item: pytest.Item) -> str:
    """Class and name of a test, with its parameters but for the number of threads."""
    name = "::".join(item.nodeid.split("::")[1:]).replace("[alone", "[").replace("[8 threads", "[")
    return name.replace("[-", "[").removesuffix("[]")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    library = find_driver(str(config.getoption("--driver")))
    if library is not None and library.name.startswith("libpocl"):
        leave_out(items, "PoCL", deviations.POCL)
    elif os.environ.get("FPGART_SERVED"):
        leave_out(items, "a service", deviations.SERVED)


def leave_out(items: list[pytest.Item], who: str, why: dict[str, str]) -> None:
    """Skip what `why` names: tests, with or without their parameters."""
    for item in items:
        name = plain_name(item)
        words = why.get(name) or why.get(name.partition("[")[0])
        if words:
            item.add_marker(pytest.mark.skip(reason=f"{who} {words}"))


# The contract suite: each test has a `host` of its own and runs alone and in eight threads at once.


@pytest.fixture(scope="session")
def loader(driver_library: str, driver_environment: dict[str, str]) -> Iterator[object]:
    """The system's OpenCL loader in this process, with one driver.

    PoCL finds no device for the second of two threads that make its first calls at once, so one thread makes them.
    """
    from opencl_api import Host, Loader

    before = os.environ.get("OCL_ICD_VENDORS")
    os.environ["OCL_ICD_VENDORS"] = driver_environment["OCL_ICD_VENDORS"]
    made = Loader()
    if Path(driver_library).name.startswith("libpocl"):
        Host(made).close()
    yield made
    if before is None:
        del os.environ["OCL_ICD_VENDORS"]
    else:
        os.environ["OCL_ICD_VENDORS"] = before


@pytest.fixture(params=["", "1"])
def isolated(request: pytest.FixtureRequest) -> str:
    """The values of FPGART_ISOLATE: kernels run in the host's process, and in one of their own."""
    if request.param and "libtsan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the memory of ThreadSanitizer is where processes share theirs")
    return str(request.param)


@pytest.fixture(params=[1, 8], ids=["alone", "8 threads"])
def host(request: pytest.FixtureRequest, loader: object) -> object:
    """Replaced by a host for each thread when the test is called."""
    return request.param, loader


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if "host" not in pyfuncitem.funcargs:
        return None
    from opencl_api import Host

    count, loader = pyfuncitem.funcargs["host"]
    names = pyfuncitem._fixtureinfo.argnames
    start = threading.Barrier(count)
    failures: list[BaseException] = []

    def body() -> None:
        try:
            host = Host(loader)
            start.wait()
            pyfuncitem.obj(**{name: host if name == "host" else pyfuncitem.funcargs[name] for name in names})
            host.close()
        except BaseException as failure:
            failures.append(failure)
            start.abort()

    if count == 1:
        body()
    else:
        threads = [threading.Thread(target=body, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise next((f for f in failures if not isinstance(f, threading.BrokenBarrierError)), failures[0])
    return True
