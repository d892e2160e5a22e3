# SPDX-License-Identifier: Apache-2.0
"""The tools and libraries of `icpx`: the search for them, and the errors if one is missing."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from fpgart.icpx.errors import IcpxError, NotInstalled

SYCL_RUNTIME = "intel-sycl-rt"
SYCL_VERSION = "2025.3.3"
"""The version whose device compiler has the interface in private_entry.py."""
FPGA_HEADER = Path("sycl", "ext", "intel", "fpga_extensions.hpp")
COMPILER_LIBRARY = "libsycl-jit.so"
INSTALL = "pip install 'fpgart[sycl]'"
HOST_COMPILERS = ("clang++-19", "clang++-18", "clang++-17", "clang++-16", "clang++")
"""The newest first: it differs least from the device compiler."""
INSTALL_CLANG = "apt install clang-16"
AC_TYPES = "hls4ml"
"""The distribution that includes the ac_types headers of the HLS Libraries project."""
AC_INT = "catapult/ac_types/include/ac_int.h"
OWN_HEADERS = Path(__file__).parent / "include"


@dataclass(frozen=True)
class SyclRuntime:
    """An installed intel-sycl-rt."""

    version: str
    folder: Path
    """The folder that contains include/ and lib/."""

    @property
    def libraries(self) -> Path:
        return self.folder / "lib"

    @property
    def headers(self) -> Path:
        return self.folder / "include"

    @property
    def compiler(self) -> Path:
        return self.libraries / COMPILER_LIBRARY


def _file_of(distribution: str, ending: str) -> Path | None:
    """Returns the file of a distribution whose path has this ending; None if it does not exist."""
    try:
        found = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return None
    named = (file for file in found.files or () if str(file).endswith(ending))
    paths = (Path(str(found.locate_file(file))).resolve() for file in named)
    return next((path for path in paths if path.exists()), None)


def sycl_runtime() -> SyclRuntime:
    """Returns the installed runtime; raises IcpxError if it is missing, or lacks the compiler or headers for FPGAs."""
    try:
        version = metadata.version(SYCL_RUNTIME)
    except metadata.PackageNotFoundError:
        raise NotInstalled(f"{SYCL_RUNTIME} is not installed, which has the device compiler: {INSTALL}") from None
    again = f"pip install --force-reinstall {SYCL_RUNTIME}=={SYCL_VERSION}"
    library = _file_of(SYCL_RUNTIME, f"/{COMPILER_LIBRARY}")
    if library is None:
        raise IcpxError(f"{SYCL_RUNTIME} {version} is installed without {COMPILER_LIBRARY}: {again}")
    found = SyclRuntime(version, library.parent.parent)
    if not (found.headers / FPGA_HEADER).exists():
        raise IcpxError(f"{SYCL_RUNTIME} {version} is installed, which has no headers for FPGAs: {again}")
    return found


def host_compiler(asked: str = "") -> Path:
    """Returns the compiler of the host's code: `asked`, or the first clang++ that is found. Raises IcpxError."""
    if asked:
        found = shutil.which(asked)
        if found is None:
            raise IcpxError(f"-fsycl-host-compiler={asked}: there is no such program")
        return Path(found)
    named = (path for name in HOST_COMPILERS if (path := shutil.which(name)) is not None)
    first = next(named, None)
    if first is None:
        raise NotInstalled(f"there is no clang++, which compiles the host's code: {INSTALL_CLANG}")
    return Path(first)


def ac_types() -> Path | None:
    """Returns the folder of ac_int.h, ac_fixed.h and ac_complex.h; None if no distribution with them is installed."""
    header = _file_of(AC_TYPES, AC_INT)
    return header.parent if header is not None else None
