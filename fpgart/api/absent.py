# SPDX-License-Identifier: Apache-2.0
"""Features that boards lack: images, samplers, sharing with graphics APIs.

Handles are still checked first; a valid call returns the status that the specification names for a device
without the feature.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, InvalidMemObject, InvalidOperation, InvalidSampler, InvalidValue
from fpgart.bridge.entry import REGISTERED, Command, Mapped, WaitList, bind, entry, failed, result_of_failure, wrapped
from fpgart.bridge.handles import find
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import CommandQueue

OF_IMAGES = re.compile("Image|Sampler")
NO_IMAGES = "the device has no images (CL_DEVICE_IMAGE_SUPPORT)"


@entry("clGetSupportedImageFormats")
def get_supported_image_formats(
    context: Context, flags: int, image_type: int, num_entries: int, image_formats: int, num_image_formats: Any
) -> None:
    if image_formats and not num_entries:
        raise InvalidValue("num_entries is 0, but image_formats is not NULL")
    if not cl.CL_MEM_OBJECT_IMAGE2D <= image_type <= cl.CL_MEM_OBJECT_IMAGE1D_BUFFER:
        raise InvalidValue(f"{image_type:#x} is not a type of image")
    if num_image_formats:
        num_image_formats[0] = 0


@entry("clGetImageInfo")
def get_image_info(image: Buffer, param_name: int, size: int, value: int, size_ret: Any) -> None:
    raise InvalidMemObject("this memory object is not an image")


@entry("clGetSamplerInfo")
def get_sampler_info(sampler: int, param_name: int, size: int, value: int, size_ret: Any) -> None:
    raise InvalidSampler(f"{sampler:#x} is not a sampler: boards have none")


@entry("clEnqueueReadImage", "clEnqueueWriteImage")
def enqueue_read_or_write_image(
    command_queue: CommandQueue,
    image: Buffer,
    blocking: int,
    origin: Any,
    region: Any,
    row_pitch: int,
    slice_pitch: int,
    ptr: int,
    wait_list: WaitList,
) -> Command:
    raise InvalidMemObject("this memory object is not an image")


@entry("clEnqueueFillImage")
def enqueue_fill_image(
    command_queue: CommandQueue, image: Buffer, fill_color: int, origin: Any, region: Any, wait_list: WaitList
) -> Command:
    raise InvalidMemObject("this memory object is not an image")


@entry("clEnqueueCopyImage")
def enqueue_copy_image(
    command_queue: CommandQueue,
    src_image: Buffer,
    dst_image: Buffer,
    src_origin: Any,
    dst_origin: Any,
    region: Any,
    wait_list: WaitList,
) -> Command:
    raise InvalidMemObject("these memory objects are not images")


@entry("clEnqueueCopyImageToBuffer")
def enqueue_copy_image_to_buffer(
    command_queue: CommandQueue,
    src_image: Buffer,
    dst_buffer: Buffer,
    src_origin: Any,
    region: Any,
    dst_offset: int,
    wait_list: WaitList,
) -> Command:
    raise InvalidMemObject("the source is not an image")


@entry("clEnqueueCopyBufferToImage")
def enqueue_copy_buffer_to_image(
    command_queue: CommandQueue,
    src_buffer: Buffer,
    dst_image: Buffer,
    src_offset: int,
    dst_origin: Any,
    region: Any,
    wait_list: WaitList,
) -> Command:
    raise InvalidMemObject("the destination is not an image")


@entry("clEnqueueMapImage")
def enqueue_map_image(
    command_queue: CommandQueue,
    image: Buffer,
    blocking_map: int,
    map_flags: int,
    origin: Any,
    region: Any,
    image_row_pitch: Any,
    image_slice_pitch: Any,
    wait_list: WaitList,
) -> Mapped:
    raise InvalidMemObject("this memory object is not an image")


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
