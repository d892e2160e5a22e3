# SPDX-License-Identifier: Apache-2.0
"""The bytes that clGetProgramInfo gives for a program and clCreateProgramWithBinary takes back.

A signature, the SHA-256 of the rest, the length of a JSON header, the header (engine, options, kind
of binary, interfaces of the kernels, what their source says to boards, the OpenCL C as far as it is known), then the
engine's own binary.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from struct import Struct
from typing import Any

from fpgart.engine.interface import ArgumentInterface, KernelInterface, PipeArgument
from fpgart.errors import InvalidBinary

SIGNATURE = b"FPGART\x01\n"
LENGTH = Struct("<Q")


@dataclass(frozen=True, slots=True)
class ProgramBinary:
    """A built, compiled or linked program; `kind` is a CL_PROGRAM_BINARY_TYPE_* value."""

    engine: str
    kind: int
    options: str
    kernels: dict[str, KernelInterface]
    payload: bytes
    listing: str | None = None
    locations: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By kernel, the buffer_location of each argument; for programs that are not linked yet."""
    hardware: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    """By kernel, the numbers of its attributes for hardware (num_simd_work_items, ...)."""

    def encode(self) -> bytes:
        header = json.dumps(
            {
                "engine": self.engine,
                "kind": self.kind,
                "options": self.options,
                "kernels": [asdict(kernel) for kernel in self.kernels.values()],
                "listing": self.listing,
                "locations": self.locations,
                "hardware": self.hardware,
            },
            sort_keys=True,
        ).encode()
        body = LENGTH.pack(len(header)) + header + self.payload
        return SIGNATURE + hashlib.sha256(body).digest() + body

    @classmethod
    def decode(cls, data: bytes) -> ProgramBinary:
        """Raises InvalidBinary, with words, for anything that encode() did not make."""
        if not data.startswith(SIGNATURE):
            raise InvalidBinary("this is not a binary of this driver: its signature is missing")
        digest, body = data[len(SIGNATURE) : len(SIGNATURE) + 32], data[len(SIGNATURE) + 32 :]
        if hashlib.sha256(body).digest() != digest:
            raise InvalidBinary("the binary is truncated or was changed: its checksum does not hold")
        length = LENGTH.unpack_from(body)[0]
        header = json.loads(body[LENGTH.size : LENGTH.size + length])
        kernels = [
            KernelInterface(
                kernel["name"],
                tuple(_argument(argument) for argument in kernel["arguments"]),
                kernel["attributes"],
                tuple(kernel["required_work_group_size"]),
            )
            for kernel in header["kernels"]
        ]
        return cls(
            header["engine"],
            header["kind"],
            header["options"],
            {kernel.name: kernel for kernel in kernels},
            body[LENGTH.size + length :],
            header.get("listing"),
            {name: tuple(places) for name, places in header.get("locations", {}).items()},
            {
                name: {attribute: tuple(numbers) for attribute, numbers in attributes.items()}
                for name, attributes in header.get("hardware", {}).items()
            },
        )


def _argument(fields: dict[str, Any]) -> ArgumentInterface:
    pipe = fields.pop("pipe", None)
    return ArgumentInterface(**fields, pipe=PipeArgument(**pipe) if pipe else None)
