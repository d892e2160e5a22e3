# SPDX-License-Identifier: Apache-2.0
"""The known faults of the drivers that serve as engines, their dates of release, and better versions.

Each row of FAULTS names a host in tests/engine_faults/, which shows the fault on the bare engine and runs to its end on
the driver.
"""

from __future__ import annotations

import re

from fpgart.base import opencl as cl
from fpgart.base.named_tuples import NamedTuple
from fpgart.engine.interface import Engine

POCL, INTEL, EMULATOR, OCLGRIND = "PoCL", "Intel's CPU runtime", "Intel's FPGA emulator", "Oclgrind"
ALL_LATER = (9999,)
POCL_3_TO_6 = (POCL, (3, 0), (6, 0))
POCL_4_TO_6 = (POCL, (4, 0), (6, 0))
"""The engine, and the first and the last version with a fault."""


class Product(NamedTuple):
    """An engine by its maker's name and number: ("PoCL", "3.0-rc2")."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}".rstrip()

    @property
    def number(self) -> tuple[int, ...]:
        """The numbers at the beginning of the version, which compare: (3, 0)."""
        found = re.match(r"\d+(?:\.\d+)*", self.version)
        return tuple(map(int, found[0].split("."))) if found else ()


class KnownFault(NamedTuple):
    """A fault of an engine, from its version `first` to its version `last`."""

    host: str
    """The host in tests/engine_faults/ that shows it, without its suffix."""
    engine: str
    first: tuple[int, ...]
    last: tuple[int, ...]
    title: str
    what: str
    """The symptom of a host on the engine alone."""
    instead: str
    """The driver's countermeasure."""
    variables: tuple[tuple[str, str], ...] = ()
    """The environment in which the host shows it."""

    def concerns(self, product: Product) -> bool:
        """True if this version of the engine has the fault."""
        length = len(self.last)
        return product.name == self.engine and self.first <= product.number and product.number[:length] <= self.last


FAULTS = (
    KnownFault(
        "binary_of_linked",
        POCL,
        (3, 0),
        (3, 0),
        "SIGSEGV at the binary of a linked program",
        "clGetProgramInfo(CL_PROGRAM_BINARIES) of a linked program whose kernel has reqd_work_group_size ends the "
        "process with SIGSEGV if the binary of a built program was asked for before",
        "the engine's compiler runs in a process of its own, and the driver's container holds no machine code",
    ),
    KnownFault(
        "barrier_after_each_launch",
        *POCL_3_TO_6,
        "barriers in out-of-order queues hang",
        "an out-of-order queue with a barrier after each of 2,000 launches does not end",
        "the driver orders the commands itself and gives the engine only those that are ready",
    ),
    KnownFault(
        "machine_code_for_binaries",
        *POCL_3_TO_6,
        "CL_PROGRAM_BINARIES takes minutes",
        "CL_PROGRAM_BINARIES compiles each kernel for work-groups of its required size: 14 to 77 s for pyopencl's "
        "scan, which is built in 3 s",
        "the driver's container holds no machine code",
    ),
    KnownFault(
        "quiet_build",
        *POCL_3_TO_6,
        "builds write to stderr",
        'a build with warnings writes "2 warnings generated." to the host\'s stderr, and one with '
        'errors "2 errors generated."',
        "the driver keeps this line from stderr; the messages are in the build log",
    ),
    KnownFault(
        "arguments_of_linked",
        *POCL_3_TO_6,
        "no argument information after links",
        "kernels of a linked program have no argument information unless clLinkProgram has -cl-kernel-arg-info, too",
        "the driver adds the option to each link",
    ),
    KnownFault(
        "options_of_links",
        *POCL_3_TO_6,
        "no options of links",
        "clLinkProgram refuses the options that a linker may apply, such as -cl-fast-relaxed-math",
        "the driver keeps them from the engine's linker",
    ),
    KnownFault(
        "option_of_sub_groups",
        POCL,
        (3, 0),
        (4, 0),
        "no -cl-no-subgroup-ifp",
        "builds refuse -cl-no-subgroup-ifp",
        "the driver keeps it from the engine's compiler: it only permits an engine to do less",
    ),
    KnownFault(
        "large_private_array",
        *POCL_3_TO_6,
        "SIGSEGV in large private arrays",
        "a kernel with a private array of 12 MiB ends the process with SIGSEGV",
        "the driver has the engine create its threads with larger stacks",
    ),
    KnownFault(
        "one_launch",
        *POCL_3_TO_6,
        "abort without a linker in PATH",
        "a build ends the process with SIGABRT or SIGSEGV where PATH leads to no linker",
        "the engine finds the standard folders at the end of PATH; the host's own PATH stays",
        (("PATH", "/nowhere"),),
    ),
    KnownFault(
        "one_launch",
        *POCL_3_TO_6,
        "no device without a folder for its cache",
        "there is no device where the folder for compiled kernels cannot be written",
        "the driver gives the engine a private folder among the temporary files",
        (("XDG_CACHE_HOME", "/proc"), ("HOME", "/proc")),
    ),
    KnownFault(
        "signal_handlers",
        *POCL_3_TO_6,
        "leaves signal handlers",
        "the compiler leaves signal handlers of its own in the host",
        "the driver restores the host's handlers after it has opened the engine, and after each build",
    ),
    KnownFault(
        "constants_in_threads",
        POCL,
        (3, 1),
        (6, 0),
        "SIGSEGV at SPIR-V in several threads",
        "clCreateProgramWithIL in several threads at once loses specialisation constants or ends the process with "
        "SIGSEGV",
        "the driver makes this call in one thread at a time",
    ),
    KnownFault(
        "assembly_in_groups",
        *POCL_4_TO_6,
        "abort at inline assembly in kernels",
        "the first launch of a kernel with inline assembly in a work-group of several work-items ends the process with "
        'SIGABRT ("Could not find a dominating alternative variable."): the compiler takes the assembly for a '
        "function of its own",
        "the assembly for channels, pipes and program-scope variables is in a function that is not inlined",
    ),
    KnownFault(
        "local_memory_size",
        *POCL_4_TO_6,
        "no sizes of local memory",
        "CL_KERNEL_LOCAL_MEM_SIZE is 0 for every kernel",
        "the driver counts the local variables in the compiler's intermediate code",
    ),
    KnownFault(
        "opencl_c_2",
        *POCL_4_TO_6,
        "no OpenCL C 2.0",
        "clBuildProgram refuses -cl-std=CL2.0, which CL/opencl.hpp passes by default",
        "the driver builds such programs for OpenCL C 3.0",
    ),
    KnownFault(
        "required_sub_groups",
        POCL,
        (6, 0),
        (6, 0),
        "wrong sizes of sub-groups",
        "clGetKernelSubGroupInfo answers for a kernel with intel_reqd_sub_group_size as for any other, and does not "
        "know CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL",
        "the driver answers from the kernel's source",
    ),
    KnownFault(
        "signal_handlers",
        INTEL,
        (2026, 22),
        ALL_LATER,
        "leaves signal handlers",
        "the compiler leaves signal handlers of its own in the host",
        "the driver restores the host's handlers after it has opened the engine, and after each build",
    ),
)

RELEASED: dict[tuple[str, tuple[int, ...]], str] = {
    (POCL, (3, 0)): "June 2022",
    (POCL, (3, 1)): "December 2022",
    (POCL, (4, 0)): "June 2023",
    (POCL, (5, 0)): "December 2023",
    (POCL, (6, 0)): "June 2024",
    (POCL, (7, 0)): "June 2025",
    (OCLGRIND, (21, 10)): "October 2021",
}
"""The dates of the releases, by the first two numbers of the versions."""


def product_of(platform_version: str, device_vendor: str, driver_version: str) -> Product:
    """Returns an engine's product by its CL_PLATFORM_VERSION, CL_DEVICE_VENDOR and CL_DRIVER_VERSION."""
    pocl = re.search(r"\bPoCL (\d\S*)", platform_version)
    if pocl:
        return Product(POCL, pocl[1])
    oclgrind = re.search(r"Oclgrind (\d[\d.]*)", platform_version)
    if oclgrind:
        return Product(OCLGRIND, oclgrind[1])
    if "FPGA SDK" in platform_version:
        return Product(EMULATOR, driver_version)
    return Product(INTEL if device_vendor.startswith("Intel") else device_vendor, driver_version)


def product_behind(engine: Engine) -> Product:
    """Returns the product of an engine; Product("", "") for a `NoEngine`."""

    def text(query: int) -> str:
        return engine.device_info(query).rstrip(b"\0").decode(errors="replace") if engine.path else ""

    return product_of(engine.version, text(cl.CL_DEVICE_VENDOR), text(cl.CL_DRIVER_VERSION))


def faults_of(product: Product) -> tuple[KnownFault, ...]:
    return tuple(fault for fault in FAULTS if fault.concerns(product))


def released(product: Product) -> str:
    """Returns the date of this version of an engine; "" if it is not known."""
    return RELEASED.get((product.name, product.number[:2]), "")


BETTER = {
    POCL: "apt install libpocl2 (Debian 12: PoCL 3.1, Debian 13: PoCL 6.0), or pip install 'fpgart[intel]'",
    INTEL: "pip install --upgrade intel-opencl-rt",
    EMULATOR: "pip install 'fpgart[intel]', which is developed further",
    OCLGRIND: "FPGART_ENGINE=pocl runs kernels compiled, without their checks",
}


def in_words(product: Product) -> list[str]:
    """Returns three lines: which engine this is and how old, its known faults, and which version is better."""
    when = released(product)
    titles = [fault.title for fault in faults_of(product)]
    return [
        f"{product}, released {when}" if when else f"{product}, whose release date is not in fpgart's table",
        f"known faults, which the driver avoids (docs/engines.md): {'; '.join(titles) or 'none'}",
        f"other engines: {BETTER.get(product.name, BETTER[POCL])}",
    ]
