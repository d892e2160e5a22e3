# SPDX-License-Identifier: Apache-2.0
"""The errors of the API: one class per status, each raised with a sentence for the host's developer.

Everything derives from `CLError`; `str(error)` is the sentence, `error.status` the code that the call
returns, `error.name` its name in the specification. Not an error here is a bug: it reaches the host
as CL_OUT_OF_RESOURCES with a traceback in the log.
"""

from __future__ import annotations

from typing import ClassVar

from fpgart.base import opencl as cl


class CLError(Exception):
    """An OpenCL call cannot do what it was asked; `status` is what the host gets."""

    status: ClassVar[int]

    @property
    def name(self) -> str:
        return cl.NAMES_OF_STATUS.get(self.status, str(self.status))


class DeviceNotFound(CLError):
    status = cl.CL_DEVICE_NOT_FOUND


class DeviceNotAvailable(CLError):
    status = cl.CL_DEVICE_NOT_AVAILABLE


class CompilerNotAvailable(CLError):
    status = cl.CL_COMPILER_NOT_AVAILABLE


class MemObjectAllocationFailure(CLError):
    status = cl.CL_MEM_OBJECT_ALLOCATION_FAILURE


class OutOfResources(CLError):
    status = cl.CL_OUT_OF_RESOURCES


class OutOfHostMemory(CLError):
    status = cl.CL_OUT_OF_HOST_MEMORY


EXHAUSTED = (OutOfResources, OutOfHostMemory)
"""What an engine may answer to any question: nothing about what was asked is to be concluded from it."""


class ProfilingInfoNotAvailable(CLError):
    status = cl.CL_PROFILING_INFO_NOT_AVAILABLE


class MemCopyOverlap(CLError):
    status = cl.CL_MEM_COPY_OVERLAP


class ImageFormatMismatch(CLError):
    status = cl.CL_IMAGE_FORMAT_MISMATCH


class ImageFormatNotSupported(CLError):
    status = cl.CL_IMAGE_FORMAT_NOT_SUPPORTED


class BuildProgramFailure(CLError):
    status = cl.CL_BUILD_PROGRAM_FAILURE


class MapFailure(CLError):
    status = cl.CL_MAP_FAILURE


class MisalignedSubBufferOffset(CLError):
    status = cl.CL_MISALIGNED_SUB_BUFFER_OFFSET


class ExecStatusErrorForEventsInWaitList(CLError):
    status = cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST


class CompileProgramFailure(CLError):
    status = cl.CL_COMPILE_PROGRAM_FAILURE


class LinkerNotAvailable(CLError):
    status = cl.CL_LINKER_NOT_AVAILABLE


class LinkProgramFailure(CLError):
    status = cl.CL_LINK_PROGRAM_FAILURE


class DevicePartitionFailed(CLError):
    status = cl.CL_DEVICE_PARTITION_FAILED


class KernelArgInfoNotAvailable(CLError):
    status = cl.CL_KERNEL_ARG_INFO_NOT_AVAILABLE


class InvalidValue(CLError):
    status = cl.CL_INVALID_VALUE


class InvalidDeviceType(CLError):
    status = cl.CL_INVALID_DEVICE_TYPE


class InvalidPlatform(CLError):
    status = cl.CL_INVALID_PLATFORM


class InvalidDevice(CLError):
    status = cl.CL_INVALID_DEVICE


class InvalidContext(CLError):
    status = cl.CL_INVALID_CONTEXT


class InvalidQueueProperties(CLError):
    status = cl.CL_INVALID_QUEUE_PROPERTIES


class InvalidCommandQueue(CLError):
    status = cl.CL_INVALID_COMMAND_QUEUE


class InvalidHostPtr(CLError):
    status = cl.CL_INVALID_HOST_PTR


class InvalidMemObject(CLError):
    status = cl.CL_INVALID_MEM_OBJECT


class InvalidImageFormatDescriptor(CLError):
    status = cl.CL_INVALID_IMAGE_FORMAT_DESCRIPTOR


class InvalidImageSize(CLError):
    status = cl.CL_INVALID_IMAGE_SIZE


class InvalidSampler(CLError):
    status = cl.CL_INVALID_SAMPLER


class InvalidBinary(CLError):
    status = cl.CL_INVALID_BINARY


class InvalidBuildOptions(CLError):
    status = cl.CL_INVALID_BUILD_OPTIONS


class InvalidProgram(CLError):
    status = cl.CL_INVALID_PROGRAM


class InvalidProgramExecutable(CLError):
    status = cl.CL_INVALID_PROGRAM_EXECUTABLE


class InvalidKernelName(CLError):
    status = cl.CL_INVALID_KERNEL_NAME


class InvalidKernelDefinition(CLError):
    status = cl.CL_INVALID_KERNEL_DEFINITION


class InvalidKernel(CLError):
    status = cl.CL_INVALID_KERNEL


class InvalidArgIndex(CLError):
    status = cl.CL_INVALID_ARG_INDEX


class InvalidArgValue(CLError):
    status = cl.CL_INVALID_ARG_VALUE


class InvalidArgSize(CLError):
    status = cl.CL_INVALID_ARG_SIZE


class InvalidKernelArgs(CLError):
    status = cl.CL_INVALID_KERNEL_ARGS


class InvalidWorkDimension(CLError):
    status = cl.CL_INVALID_WORK_DIMENSION


class InvalidWorkGroupSize(CLError):
    status = cl.CL_INVALID_WORK_GROUP_SIZE


class InvalidWorkItemSize(CLError):
    status = cl.CL_INVALID_WORK_ITEM_SIZE


class InvalidGlobalOffset(CLError):
    status = cl.CL_INVALID_GLOBAL_OFFSET


class InvalidEventWaitList(CLError):
    status = cl.CL_INVALID_EVENT_WAIT_LIST


class InvalidEvent(CLError):
    status = cl.CL_INVALID_EVENT


class InvalidOperation(CLError):
    status = cl.CL_INVALID_OPERATION


class InvalidGlObject(CLError):
    status = cl.CL_INVALID_GL_OBJECT


class InvalidBufferSize(CLError):
    status = cl.CL_INVALID_BUFFER_SIZE


class InvalidMipLevel(CLError):
    status = cl.CL_INVALID_MIP_LEVEL


class InvalidGlobalWorkSize(CLError):
    status = cl.CL_INVALID_GLOBAL_WORK_SIZE


class InvalidProperty(CLError):
    status = cl.CL_INVALID_PROPERTY


class InvalidImageDescriptor(CLError):
    status = cl.CL_INVALID_IMAGE_DESCRIPTOR


class InvalidCompilerOptions(CLError):
    status = cl.CL_INVALID_COMPILER_OPTIONS


class InvalidLinkerOptions(CLError):
    status = cl.CL_INVALID_LINKER_OPTIONS


class InvalidDevicePartitionCount(CLError):
    status = cl.CL_INVALID_DEVICE_PARTITION_COUNT


class InvalidPipeSize(CLError):
    status = cl.CL_INVALID_PIPE_SIZE


class PipeFull(CLError):
    status = cl.CL_PIPE_FULL


class PipeEmpty(CLError):
    status = cl.CL_PIPE_EMPTY


class InvalidDeviceQueue(CLError):
    status = cl.CL_INVALID_DEVICE_QUEUE


class InvalidSpecId(CLError):
    status = cl.CL_INVALID_SPEC_ID


BY_STATUS: dict[int, type[CLError]] = {kind.status: kind for kind in CLError.__subclasses__()}


def without_frames(error: CLError) -> CLError:
    """An error that was caught, and forgets where it was raised.

    A frame there that has the error in a variable would keep itself, and all objects in its variables, until Python's
    collector finds them: memory that the host has released would stay allocated.
    """
    error.__traceback__ = None
    return error


def error_of(status: int, words: str) -> CLError:
    """The error for a status that came from elsewhere, such as the engine's driver."""
    return BY_STATUS.get(status, OutOfResources)(words)
