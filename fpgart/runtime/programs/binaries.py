# SPDX-License-Identifier: Apache-2.0
"""Recognises the binaries that hosts pass to clCreateProgramWithBinary (OpenCL 3.0, 5.8.1)."""

from __future__ import annotations

from fpgart.aocx.binary import ProgramBinary
from fpgart.aocx.container import MAGIC, Container
from fpgart.aocx.errors import AocxError
from fpgart.base.errors import InvalidBinary
from fpgart.kernels.emulator_image import is_image, read_image
from fpgart.runtime.memory.device import Device


def check_binary(device: Device, data: bytes) -> None:
    """Raises InvalidBinary for bytes that are no binary, or none for this device."""
    if is_image(data):
        read_image(data)
        return
    if not data.startswith(MAGIC):
        ProgramBinary.decode(data)
        return
    from fpgart.aocx.checks import check  # few hosts need it

    try:
        check(Container.decode(data), device.board)
    except AocxError as error:
        raise InvalidBinary(str(error)) from None
