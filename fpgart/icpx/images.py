# SPDX-License-Identifier: Apache-2.0
"""Device images, as the device compilers write them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from fpgart.kernels.spirv import Module

Property = int | bytes


@dataclass(frozen=True)
class DeviceImage:
    """SPIR-V with the facts that the SYCL runtime needs."""

    code: Path
    kernels: tuple[str, ...]
    """The entry points, and the functions that other images may call."""
    properties: dict[str, dict[str, Property]]
    """By set, such as "SYCL/kernel param opt", and by name."""


def described_images(folder: Path) -> list[DeviceImage]:
    """Returns the images that images.json describes, except those without kernels, functions or variables."""
    found = []
    for image in json.loads((folder / "images.json").read_text()):
        properties = {
            name: {key: value if isinstance(value, int) else bytes(value) for key, value in values.items()}
            for name, values in image["properties"].items()
        }
        if image["symbols"]:
            found.append(DeviceImage(folder / image["file"], tuple(image["symbols"]), properties))
    return found


def undescribed_images(folder: Path) -> list[DeviceImage]:
    """Returns the images with kernels among the files of a folder. Their properties are not known."""
    files = sorted(folder.glob("*.spv"), key=lambda file: int(file.stem))
    found = [DeviceImage(file, tuple(Module(file.read_bytes()).kernels), {}) for file in files]
    return [image for image in found if image.kernels]
