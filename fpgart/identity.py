# SPDX-License-Identifier: Apache-2.0
"""What the platform says of itself: the C side says it, too, before any interpreter has started (icd/lobby.c)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """The strings by which hosts find a platform and its devices."""

    name: str
    vendor: str
    version: str
    device_prefix: str = ""


IDENTITIES = {
    "fpgart": Identity("fpgart", "fpgart", "OpenCL 3.0 fpgart 1.0.0"),
    "intel-fpga-sdk": Identity(
        "Intel(R) FPGA SDK for OpenCL(TM)",
        "Intel(R) Corporation",
        "OpenCL 3.0 Intel(R) FPGA SDK for OpenCL(TM), Version 2025.1 (fpgart)",
    ),
    "intel-fpga-emulator": Identity(
        "Intel(R) FPGA Emulation Platform for OpenCL(TM)",
        "Intel(R) Corporation",
        "OpenCL 3.0 Intel(R) FPGA SDK for OpenCL(TM), Version 20.3 (fpgart)",
        "Intel(R) FPGA Emulation Device ",
    ),
    "ti": Identity("TI KeyStone", "Texas Instruments, Inc.", "OpenCL 3.0 TI product version (fpgart)"),
}
"""By the value of FPGART_PLATFORM."""
PROFILE = "FULL_PROFILE"
PLATFORM_EXTENSIONS = ("cl_khr_icd", "cl_khr_extended_versioning")
ICD_SUFFIX = "FPGART"
