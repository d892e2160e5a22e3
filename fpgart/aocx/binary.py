# SPDX-License-Identifier: Apache-2.0
"""The binary of a program, which clGetProgramInfo returns and clCreateProgramWithBinary takes.

It consists of a signature, the SHA-256 of the rest, the length of a JSON header, the header (engine, options, kind of
binary, interfaces and hardware attributes of the kernels, the OpenCL C if it is known), and the engine's own binary.
"""

from __future__ import annotations

import json
from functools import lru_cache
from struct import Struct

from fpgart.base.digests import sha256
from fpgart.base.errors import InvalidBinary
from fpgart.base.json_input import parse_json, typed, untyped
from fpgart.base.named_tuples import NamedTuple
from fpgart.kernels.interface import KernelInterface

SIGNATURE = b"FPGART\x01\n"
LENGTH = Struct("<Q")


class ProgramBinary(NamedTuple):
    """A built, compiled or linked program. All fields but the payload are the JSON header."""

    engine: str
    kind: int
    """A CL_PROGRAM_BINARY_TYPE_* value."""
    options: str
    kernels: list[KernelInterface]
    listing: str | None
    """The OpenCL C, if it is known."""
    locations: dict[str, tuple[str, ...]]
    """By kernel, the buffer_location of each argument; for programs that are not linked yet."""
    hardware: dict[str, dict[str, tuple[int, ...]]]
    """By kernel, the numbers of its attributes for hardware (num_simd_work_items, ...)."""
    payload: bytes = b""
    """The engine's binary, or OpenCL C (aocx/compiler.py)."""

    @property
    def interfaces(self) -> dict[str, KernelInterface]:
        """The kernels by their names."""
        return {kernel.name: kernel for kernel in self.kernels}

    def encode(self) -> bytes:
        fields = untyped(self)
        del fields["payload"]
        header = json.dumps(fields, sort_keys=True).encode()
        body = LENGTH.pack(len(header)) + header + self.payload
        return SIGNATURE + sha256(body).digest() + body

    @staticmethod
    @lru_cache(maxsize=1)
    def decode(data: bytes) -> ProgramBinary:
        """Reads the result of encode(); raises InvalidBinary for anything else.

        The last result is kept, because a call that makes a program checks its binary first.
        """
        if not data.startswith(SIGNATURE):
            raise InvalidBinary("this is not a binary of this driver: its signature is missing")
        digest, body = data[len(SIGNATURE) : len(SIGNATURE) + 32], data[len(SIGNATURE) + 32 :]
        if sha256(body).digest() != digest:
            raise InvalidBinary("the binary is truncated or was changed: its checksum does not hold")
        length = LENGTH.unpack_from(body)[0] if len(body) >= LENGTH.size else 0
        try:
            header = typed(parse_json(body[LENGTH.size : LENGTH.size + length]), ProgramBinary, "its header")
        except ValueError as error:
            raise InvalidBinary(f"the binary is damaged, or of another version of this driver: {error}") from None
        return header._replace(payload=body[LENGTH.size + length :])
