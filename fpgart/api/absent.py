# SPDX-License-Identifier: Apache-2.0
"""Features that boards lack: images, samplers, sharing with graphics APIs.

Handles are still checked first; a valid call returns the status that the specification names for a device
without the feature.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fpgart.api.mem_flags import ACCESS, HOST_ACCESS, HOST_POINTERS, check_flags
from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, InvalidMemObject, InvalidOperation, InvalidSampler, InvalidValue
from fpgart.bridge.entry import REGISTERED, bind, entry, failed, result_of_failure, wrapped
from fpgart.bridge.handles import find
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import CommandQueue

OF_IMAGES = re.compile("Image|Sampler")
IMAGE_FLAGS = ACCESS | HOST_ACCESS | HOST_POINTERS | cl.CL_MEM_KERNEL_READ_AND_WRITE
NO_IMAGE = "this memory object is not an image"
NO_IMAGES = "the device has no images (CL_DEVICE_IMAGE_SUPPORT)"


@entry("clGetSupportedImageFormats")
def get_supported_image_formats(
    context: Context, flags: int, image_type: int, num_entries: int, image_formats: int, num_image_formats: Any
) -> None:
    if image_formats and not num_entries:
        raise InvalidValue("num_entries is 0, but image_formats is not NULL")
    check_flags(flags, IMAGE_FLAGS, "image")
    if not cl.CL_MEM_OBJECT_IMAGE2D <= image_type <= cl.CL_MEM_OBJECT_IMAGE1D_BUFFER:
        raise InvalidValue(f"{image_type:#x} is not a type of image")
    if num_image_formats:
        num_image_formats[0] = 0


@entry("clGetImageInfo")
def get_image_info(image: Buffer, param_name: int, size: int, value: int, size_ret: Any) -> None:
    raise InvalidMemObject(NO_IMAGE)


@entry("clGetSamplerInfo")
def get_sampler_info(sampler: int, param_name: int, size: int, value: int, size_ret: Any) -> None:
    raise InvalidSampler(f"{sampler:#x} is not a sampler: boards have none")


def _refuse_images(*names: str, others: int, words: str, buffers: int = 1, returned: str = "Command") -> None:
    """Registers commands that take a queue, memory objects, which are buffers, `others`, and a wait list."""

    def refuse(*arguments: object) -> None:
        raise InvalidMemObject(words)

    kinds = ["CommandQueue", *["Buffer"] * buffers, *["int"] * others, "WaitList"]
    refuse.__annotations__ = {f"argument_{place}": kind for place, kind in enumerate(kinds)} | {"return": returned}
    entry(*names)(refuse)


_refuse_images("clEnqueueReadImage", "clEnqueueWriteImage", others=6, words=NO_IMAGE)
_refuse_images("clEnqueueFillImage", others=3, words=NO_IMAGE)
_refuse_images("clEnqueueCopyImage", buffers=2, others=3, words="these memory objects are not images")
_refuse_images("clEnqueueCopyImageToBuffer", buffers=2, others=3, words="the source is not an image")
_refuse_images("clEnqueueCopyBufferToImage", buffers=2, others=3, words="the destination is not an image")
_refuse_images("clEnqueueMapImage", others=6, words=NO_IMAGE, returned="Mapped")


def refuse_the_rest(functions: list[tuple[str, list[str], str]]) -> None:
    """Binds a refusing entry point to every API function that has none. It checks its first handle before.

    `functions`: names, each with the names of the parameters and the return type.
    """
    for name, parameters, returned in functions:
        if name not in REGISTERED:
            REGISTERED.add(name)
            refusal = wrapped(name, _refusal(name, parameters, returned))
            bind(name, refusal, result_of_failure(returned, InvalidOperation.status))


FIRST_HANDLES: dict[str, type] = {"context": Context, "command_queue": CommandQueue, "memobj": Buffer}


def _refusal(name: str, parameters: list[str], returned: str) -> Callable[..., int | None]:
    kind = FIRST_HANDLES.get(parameters[0])

    def refuse(*arguments: Any) -> int | None:
        item: Any = None
        try:
            if kind is not None:
                item = find(arguments[0], kind)
            raise InvalidOperation(NO_IMAGES if OF_IMAGES.search(name) else f"{name} is not offered by this platform")
        except CLError as error:
            status = failed(error, name, item)
        if parameters[-1] == "errcode_ret":
            arguments[-1][0] = status
        return result_of_failure(returned, status)

    return refuse
