# SPDX-License-Identifier: Apache-2.0
"""Device images, as device_compiler.py writes them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

Property = int | bytes


@dataclass(frozen=True)
class DeviceImage:
    """SPIR-V with the facts that the SYCL runtime needs."""

    code: Path
    kernels: tuple[str, ...]
    """The entry points, and the functions that other images may call."""
    properties: dict[str, dict[str, Property]]
    """By set, such as "SYCL/kernel param opt", and by name."""


def read_images(folder: Path) -> list[DeviceImage]:
    """Returns the images of a device pass, except those without kernels, functions or variables."""
    found = []
    for image in json.loads((folder / "images.json").read_text()):
        properties = {
            name: {key: value if isinstance(value, int) else bytes(value) for key, value in values.items()}
            for name, values in image["properties"].items()
        }
        if image["symbols"]:
            found.append(DeviceImage(folder / image["file"], tuple(image["symbols"]), properties))
    return found
