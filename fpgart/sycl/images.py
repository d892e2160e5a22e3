# SPDX-License-Identifier: Apache-2.0
"""The format, region and pitches of an OpenCL image, from the shape and type of its array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl

from fpgart.sycl.modes import SyclError

Array = np.ndarray[Any, Any]
ORDERS = {1: cl.channel_order.R, 2: cl.channel_order.RG, 4: cl.channel_order.RGBA}
TYPES = {
    "int8": cl.channel_type.SIGNED_INT8,
    "int16": cl.channel_type.SIGNED_INT16,
    "int32": cl.channel_type.SIGNED_INT32,
    "uint8": cl.channel_type.UNSIGNED_INT8,
    "uint16": cl.channel_type.UNSIGNED_INT16,
    "uint32": cl.channel_type.UNSIGNED_INT32,
    "float16": cl.channel_type.HALF_FLOAT,
    "float32": cl.channel_type.FLOAT,
}
KINDS = {2: cl.mem_object_type.IMAGE2D, 3: cl.mem_object_type.IMAGE3D}


@dataclass(frozen=True)
class ImageLayout:
    """The layout of an image. `region`: width, height and, of three dimensions, depth in pixels."""

    region: tuple[int, ...]
    channels: int
    type_name: str

    @classmethod
    def of(cls, shape: tuple[int, ...], dtype: np.dtype[Any], dimensions: int) -> ImageLayout:
        """Returns the layout of an array of shape ([depth,] height, width[, channels]).

        Raises SyclError if it is no image.
        """
        if dimensions not in KINDS:
            raise SyclError(f"an image has {' or '.join(map(str, KINDS))} dimensions, not {dimensions}")
        if len(shape) not in (dimensions, dimensions + 1):
            raise SyclError(f"an array of shape {shape} is not an image of {dimensions} dimensions")
        channels = shape[dimensions] if len(shape) > dimensions else 1
        if channels not in ORDERS or dtype.name not in TYPES:
            raise SyclError(
                f"a pixel of {channels} times {dtype} is none of an image: "
                f"it has {', '.join(map(str, ORDERS))} channels of {', '.join(TYPES)}"
            )
        return cls(shape[dimensions - 1 :: -1], channels, dtype.name)

    @property
    def everywhere(self) -> dict[str, tuple[int, ...]]:
        """Returns the arguments of a command that name the whole image."""
        return {"origin": (0,) * len(self.region), "region": self.region}

    def make(self, context: cl.Context, flags: Any, host: Array | None) -> cl.Image:
        """Creates the image in a context. Raises SyclError if a device has no such images."""
        kind = f"{len(self.region)}D images"
        for device in context.devices:
            if not device.image_support:
                raise SyclError(f"device '{device.name.strip()}' has no {kind}: it takes buffers alone")
        wanted = cl.ImageFormat(ORDERS[self.channels], TYPES[self.type_name])
        if wanted not in cl.get_supported_image_formats(context, cl.mem_flags.READ_WRITE, KINDS[len(self.region)]):
            pixel = f"{self.channels} times {self.type_name}"
            raise SyclError(f"device '{context.devices[0].name.strip()}' has no {kind} with pixels of {pixel}")
        return cl.Image(context, flags, wanted, shape=self.region, hostbuf=host)

    def map(
        self, queue: cl.CommandQueue, image: Any, flags: Any, layout: tuple[Any, Any], events: list[cl.Event]
    ) -> tuple[Array, cl.Event]:
        """Maps the image's contents to an array of the host, valid once the event has ended."""
        shape, dtype = layout
        where: Any = self.everywhere
        array, event, row, plane = cl.enqueue_map_image(
            queue, image, flags, where["origin"], where["region"], shape, dtype, wait_for=events, is_blocking=False
        )
        pixel = array.strides[len(self.region) :]
        steps = (plane, row)[-len(self.region) + 1 :] + (self.channels * np.dtype(dtype).itemsize,)
        return np.lib.stride_tricks.as_strided(array, shape, steps + pixel), event
