# SPDX-License-Identifier: Apache-2.0
"""The two ways to call the device compiler of the SYCL runtime."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fpgart.base.registration import variables_for_only
from fpgart.engine.choice import candidates
from fpgart.engine.compiling.cache import users_cache
from fpgart.icpx.errors import IcpxError, PassFailed
from fpgart.icpx.images import DeviceImage, described_images, undescribed_images
from fpgart.icpx.outputs import write_output
from fpgart.icpx.pieces import INSTALL, SYCL_RUNTIME, SYCL_VERSION, SyclRuntime
from fpgart.icpx.programs import run

PRIVATE_ENTRY = Path(__file__).with_name("private_entry.py")
KERNEL_COMPILER = Path(__file__).with_name("kernel_compiler.cpp")
BITCODE = "device.bc"
NO_DEVICE_LIBRARIES = "-fno-sycl-device-lib=all"
ALWAYS = ("-fno-discard-value-names", NO_DEVICE_LIBRARIES, "-fno-sycl-dead-args-optimization")
LACKING = re.compile(r"\b(libsycl-[\w-]+)\.bc: error: Could not open")
TEXT = "rtc_0.cpp:1:"
"""The compiler's name for the text in kernel_compiler.cpp, and the line that includes the source."""
NOISE = (NO_DEVICE_LIBRARIES, "Device compilation failed\n", "Detailed information:\n", f"{TEXT}\n")
"""Parts of lines in the device compiler's log that tell its user nothing."""
MAGIC = b"BC\xc0\xde"
"""The first bytes of LLVM's bitcode."""


class DeviceCompiler(ABC):
    """The device compiler. Both methods write into a folder and return the lines of the compiler's log."""

    has_properties: ClassVar[bool]
    """True if the properties of images are known, which the SYCL runtime needs for device globals, for example."""

    @abstractmethod
    def compile(self, source: Path, folder: Path, words: Sequence[str], verbose: bool) -> list[str]:
        """Compiles a source to bitcode, the file BITCODE. Raises PassFailed or IcpxError."""

    @abstractmethod
    def link(
        self, source: Path, folder: Path, words: Sequence[str], verbose: bool
    ) -> tuple[list[str], list[DeviceImage]]:
        """Compiles an empty source, with bitcode that `words` name, to device images. Raises as `compile` does."""


@dataclass(frozen=True)
class PrivateEntry(DeviceCompiler):
    """The function that the SYCL runtime itself calls: it needs no OpenCL device, and is not documented."""

    library: Path
    has_properties = True

    def compile(self, source: Path, folder: Path, words: Sequence[str], verbose: bool) -> list[str]:
        program = [sys.executable, "-I", "-S", str(PRIVATE_ENTRY), str(self.library)]
        return _run([*program, str(folder), str(source), *words], verbose)

    def link(
        self, source: Path, folder: Path, words: Sequence[str], verbose: bool
    ) -> tuple[list[str], list[DeviceImage]]:
        said = self.compile(source, folder, words, verbose)
        return said, described_images(folder)


@dataclass(frozen=True)
class KernelCompilerExtension(DeviceCompiler):
    """The documented extension sycl_ext_oneapi_kernel_compiler, which a C++ program calls.

    It builds kernels for an OpenCL device: Intel's emulator, or if that is not installed, the SYCL runtime's default
    device.
    """

    program: Path
    has_properties = False

    def compile(self, source: Path, folder: Path, words: Sequence[str], verbose: bool) -> list[str]:
        """Compiles a source. The bitcode is what the runtime stores in its persistent cache.

        A device may refuse kernels that call functions of other sources, so the build for it does not matter here.
        """
        cache = folder / "cache"
        try:
            said = self._run(source, folder, words, verbose, SYCL_CACHE_PERSISTENT="1", SYCL_CACHE_DIR=str(cache))
        except PassFailed:
            if not self._keep_bitcode(cache, folder):
                raise
            return []
        if not self._keep_bitcode(cache, folder):
            raise IcpxError(f"this {SYCL_RUNTIME} keeps no code that could be linked: {INSTALL}")
        return said

    def link(
        self, source: Path, folder: Path, words: Sequence[str], verbose: bool
    ) -> tuple[list[str], list[DeviceImage]]:
        said = self._run(source, folder, words, verbose)
        return said, undescribed_images(folder)

    def _run(self, source: Path, folder: Path, words: Sequence[str], verbose: bool, **variables: str) -> list[str]:
        devices = {"ONEAPI_DEVICE_SELECTOR": "opencl:*", **_variables_of_emulator(folder)}
        return _run([str(self.program), str(folder), str(source), *words], verbose, **devices, **variables)

    def _keep_bitcode(self, cache: Path, folder: Path) -> bool:
        """Copies the bitcode from the cache, where a number and the size precede it; returns whether there is one."""
        kept = next(cache.glob("ext_kernel_compiler/*/*.bin"), None)
        _, magic, code = kept.read_bytes().partition(MAGIC) if kept is not None else (b"", b"", b"")
        (folder / BITCODE).write_bytes(magic + code)
        return bool(magic)


def _run(words: Sequence[str], verbose: bool, **variables: str) -> list[str]:
    """Runs the device compiler with the options that it always has; returns the lines of its log."""
    try:
        said = run([*words, *ALWAYS], verbose, name="the device compiler", variables=variables)
    except PassFailed as failed:
        if lacking := LACKING.search(str(failed)):
            raise IcpxError(
                f"the kernels need {lacking[1]}, a device library that {SYCL_RUNTIME} does not include; "
                "those with bfloat16 do, for example"
            ) from None
        raise PassFailed("".join(_without_noise(str(failed)))) from None
    return _without_noise(said)


def _without_noise(log: str) -> list[str]:
    """Returns the lines of the device compiler's log, except those that are not about the program."""
    lines = (line.removeprefix("\t") for line in log.splitlines(keepends=True))
    return [line for line in lines if not any(each in line for each in NOISE)]


def _variables_of_emulator(folder: Path) -> dict[str, str]:
    """Returns the variables by which loaders find Intel's emulator and no other driver; none if it is not installed."""
    emulator = next((path for _, path in candidates("emulator")), None)
    return variables_for_only(emulator, folder / "vendors") if emulator is not None else {}


def device_compiler(runtime: SyclRuntime, host: Path, folder: Path, verbose: bool) -> DeviceCompiler:
    """Returns the device compiler: the private entry where it was tested. Raises PassFailed or IcpxError."""
    if runtime.version == SYCL_VERSION:
        return PrivateEntry(runtime.compiler)
    return KernelCompilerExtension(kernel_compiler(runtime, host, folder, verbose))


def kernel_compiler(runtime: SyclRuntime, host: Path, folder: Path, verbose: bool) -> Path:
    """Returns the program that calls the extension, which is built once for each runtime and compiler of the host.

    It stays in the user's cache folder, with a digest of its content in its name; if that folder cannot be used, it is
    built in the private `folder`.
    """
    key = "\0".join((str(runtime.folder), runtime.version, str(host), KERNEL_COMPILER.read_text()))
    name = f"kernel_compiler-{_digest(os.fsencode(key))}"
    cache = Path(users_cache() or folder, "fpgart", "icpx")
    kept = _kept(cache, name)
    if kept is not None:
        return kept
    built = folder / name
    libraries = str(runtime.libraries)
    run(
        [
            str(host), "-std=c++17", "-w", "-O1", "-isystem", str(runtime.headers), str(KERNEL_COMPILER),
            f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lsycl", "-o", str(built),
        ],
        verbose,
    )  # fmt: skip
    try:
        cache.mkdir(parents=True, exist_ok=True)
        write_output(built, cache / f"{name}-{_digest(built.read_bytes())}")
    except (OSError, IcpxError):
        return built
    return _kept(cache, name) or built


def _kept(cache: Path, name: str) -> Path | None:
    """Returns the program that is kept as `name`; None if there is none, or if it is damaged or cannot be executed."""
    with suppress(OSError):  # the folder cannot be read
        for file in cache.glob(f"{name}-*"):
            if file.name == f"{name}-{_digest(file.read_bytes())}" and os.access(file, os.X_OK):
                return file
    return None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
