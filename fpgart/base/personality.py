# SPDX-License-Identifier: Apache-2.0
"""Personalities: the names, vendors and versions by which hosts find a platform and its devices."""

from __future__ import annotations

from typing import Final

from fpgart.base.named_tuples import NamedTuple
from fpgart.version import __version__

FULL_NAME = {
    "sdk": "Intel(R) FPGA SDK for OpenCL(TM)",
    "emulator": "Intel(R) FPGA Emulation Platform for OpenCL(TM)",
    "altera": "Altera SDK for OpenCL",
    "keystone": "TI KeyStone II",
    "sitara": "TI AM57x",
}
INTEL = "Intel(R) Corporation"
TI = "Texas Instruments, Inc."
OF_INTEL = (
    "cl_intel_create_buffer_with_properties",
    "cl_intel_mem_channel_property",
    "cl_intel_mem_alloc_buffer_location",
    "cl_intel_program_scope_host_pipe",
    "cl_intel_global_variable_access",
)
"""The extensions of the boards' runtime that fpgart implements."""


PROFILE: Final = "FULL_PROFILE"
PLATFORM_EXTENSIONS: Final = ("cl_khr_icd", "cl_khr_extended_versioning")
ICD_SUFFIX: Final = "FPGART"
"""The same for all platforms, because loaders ask for these before the driver starts (icd/entry/before_start.c)."""


class Personality(NamedTuple):
    """The strings by which hosts find a platform and its devices, and the extensions that they expect.

    In `device_name`, {board} and {number} stand for the board's name and the device's number. If `device_vendor` or
    `driver` is empty, the board's description or fpgart's version answers. Hosts have buffers of a fixed size for these
    strings: with the final NUL, `version` has at most 49 bytes, and the shorter of the names at most 63.
    """

    name: str
    vendor: str
    version: str
    device_name: str = "{board}"
    device_vendor: str = ""
    driver: str = ""
    extensions: tuple[str, ...] = ()
    words: str = ""
    """The hosts that it is for."""
    short_name: str = ""
    """CL_PLATFORM_NAME for hosts whose buffer is too small for `name`: that of the original."""
    ignores_wrong_locations: bool = False
    """True if a buffer location that the board does not have counts as none, as on Intel's emulator."""

    def name_of_device(self, board: str, number: int) -> str:
        return self.device_name.format(board=board, number=number)


ANY = "any"
BOARD_AND_MORE = "{board} : fpgart"
"""Hosts find a board's binaries by the part before the blank and the colon."""
PERSONALITIES: Final[dict[str, Personality]] = {
    ANY: Personality(
        ", ".join(FULL_NAME[each] for each in ("sdk", "emulator", "altera")),
        INTEL,
        "OpenCL 3.0 Intel(R) FPGA SDK 2025.1 (fpgart)",
        BOARD_AND_MORE,
        extensions=OF_INTEL,
        words="hosts that look for any of Intel's or Altera's platforms by a part of its name",
        short_name=FULL_NAME["sdk"],
    ),
    "fpgart": Personality(
        "fpgart",
        "fpgart",
        f"OpenCL 3.0 fpgart {__version__}",
        words="hosts that take the first platform, or look for fpgart",
    ),
    "intel": Personality(
        FULL_NAME["sdk"],
        INTEL,
        "OpenCL 3.0 Intel(R) FPGA SDK 2025.1 (fpgart)",
        BOARD_AND_MORE,
        driver="2025.1",
        extensions=OF_INTEL,
        words="hosts that compare the whole name with that of the boards' runtime",
    ),
    "emulator": Personality(
        FULL_NAME["emulator"],
        INTEL,
        "OpenCL 3.0 Intel(R) FPGA SDK 20.3 (fpgart)",
        "Intel(R) FPGA Emulation Device",
        device_vendor=INTEL,
        driver="20.3",
        extensions=(*OF_INTEL, "cl_intel_channels"),
        words="hosts that compare the whole name with that of the emulator",
        ignores_wrong_locations=True,
    ),
    "legacy": Personality(
        FULL_NAME["altera"],
        "Altera Corporation",
        f"OpenCL 3.0 {FULL_NAME['altera']} 16.1 (fpgart)",
        BOARD_AND_MORE,
        device_vendor="Altera Corporation",
        driver="16.1",
        extensions=("cl_altera_compiler_mode", "cl_altera_live_object_tracking"),
        words="hosts from before the boards were Intel's",
    ),
    "ti": Personality(
        ", ".join(FULL_NAME[each] for each in ("keystone", "sitara")),
        TI,
        "OpenCL 3.0 TI version 01.02.00.02 (fpgart)",
        "TI Multicore C66 DSP",
        device_vendor=TI,
        driver="01.02.00.02",
        extensions=("cl_ti_msmc_buffers",),
        words="hosts for TI's 66AK2x and AM57x",
    ),
}
ALIASES: Final = {"intel-fpga-sdk": "intel", "intel-fpga-emulator": "emulator"}
"""Names that FPGART_PLATFORM accepts besides."""

EMULATED: Final = PERSONALITIES[ANY]._replace(device_name="EmulatorDevice : Emulated Device")
"""Used with CL_CONTEXT_EMULATOR_DEVICE_INTELFPGA: the older emulator had the platform's name of the boards' runtime."""
SIMULATED: Final = PERSONALITIES["intel"]._replace(
    device_name="SimulatorDevice : Multi-process Simulator (aclmsim{number})"
)
"""Used with CL_CONTEXT_MPSIM_DEVICE_INTELFPGA."""
