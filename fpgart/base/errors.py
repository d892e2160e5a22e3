# SPDX-License-Identifier: Apache-2.0
"""The errors of the API: one class per status, each raised with a message for the host's developer.

`str(error)` is the message, `error.status` the status that the call returns, `error.name` its name in the
specification. Any other exception is a bug: the host gets CL_OUT_OF_RESOURCES and the log a traceback.
"""

from __future__ import annotations

from typing import ClassVar

from fpgart.base import opencl as cl


class CLError(Exception):
    """An OpenCL call has failed; the host gets `status`."""

    status: ClassVar[int]

    def __init_subclass__(cls, status: int | None = None) -> None:
        if status is not None:
            cls.status = status

    @property
    def name(self) -> str:
        return cl.NAMES_OF_STATUS.get(self.status, str(self.status))


class DeviceNotFound(CLError, status=cl.CL_DEVICE_NOT_FOUND): ...


class DeviceNotAvailable(CLError, status=cl.CL_DEVICE_NOT_AVAILABLE): ...


class CompilerNotAvailable(CLError, status=cl.CL_COMPILER_NOT_AVAILABLE): ...


class MemObjectAllocationFailure(CLError, status=cl.CL_MEM_OBJECT_ALLOCATION_FAILURE): ...


class OutOfResources(CLError, status=cl.CL_OUT_OF_RESOURCES): ...


class OutOfHostMemory(CLError, status=cl.CL_OUT_OF_HOST_MEMORY): ...


EXHAUSTED = (OutOfResources, OutOfHostMemory)
"""The errors with which an engine may answer any query: they say nothing about its subject."""


class ProfilingInfoNotAvailable(CLError, status=cl.CL_PROFILING_INFO_NOT_AVAILABLE): ...


class MemCopyOverlap(CLError, status=cl.CL_MEM_COPY_OVERLAP): ...


class BuildProgramFailure(CLError, status=cl.CL_BUILD_PROGRAM_FAILURE): ...


class MisalignedSubBufferOffset(CLError, status=cl.CL_MISALIGNED_SUB_BUFFER_OFFSET): ...


class ExecStatusErrorForEventsInWaitList(CLError, status=cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST): ...


class CompileProgramFailure(CLError, status=cl.CL_COMPILE_PROGRAM_FAILURE): ...


class LinkProgramFailure(CLError, status=cl.CL_LINK_PROGRAM_FAILURE): ...


class KernelArgInfoNotAvailable(CLError, status=cl.CL_KERNEL_ARG_INFO_NOT_AVAILABLE): ...


class InvalidValue(CLError, status=cl.CL_INVALID_VALUE): ...


class InvalidDeviceType(CLError, status=cl.CL_INVALID_DEVICE_TYPE): ...


class InvalidPlatform(CLError, status=cl.CL_INVALID_PLATFORM): ...


class InvalidDevice(CLError, status=cl.CL_INVALID_DEVICE): ...


class InvalidContext(CLError, status=cl.CL_INVALID_CONTEXT): ...


class InvalidQueueProperties(CLError, status=cl.CL_INVALID_QUEUE_PROPERTIES): ...


class InvalidCommandQueue(CLError, status=cl.CL_INVALID_COMMAND_QUEUE): ...


class InvalidHostPtr(CLError, status=cl.CL_INVALID_HOST_PTR): ...


class InvalidMemObject(CLError, status=cl.CL_INVALID_MEM_OBJECT): ...


class InvalidSampler(CLError, status=cl.CL_INVALID_SAMPLER): ...


class InvalidBinary(CLError, status=cl.CL_INVALID_BINARY): ...


class InvalidBuildOptions(CLError, status=cl.CL_INVALID_BUILD_OPTIONS): ...


class InvalidProgram(CLError, status=cl.CL_INVALID_PROGRAM): ...


class InvalidProgramExecutable(CLError, status=cl.CL_INVALID_PROGRAM_EXECUTABLE): ...


class InvalidKernelName(CLError, status=cl.CL_INVALID_KERNEL_NAME): ...


class InvalidKernelDefinition(CLError, status=cl.CL_INVALID_KERNEL_DEFINITION): ...


class InvalidKernel(CLError, status=cl.CL_INVALID_KERNEL): ...


class InvalidArgIndex(CLError, status=cl.CL_INVALID_ARG_INDEX): ...


class InvalidArgValue(CLError, status=cl.CL_INVALID_ARG_VALUE): ...


class InvalidArgSize(CLError, status=cl.CL_INVALID_ARG_SIZE): ...


class InvalidKernelArgs(CLError, status=cl.CL_INVALID_KERNEL_ARGS): ...


class InvalidWorkDimension(CLError, status=cl.CL_INVALID_WORK_DIMENSION): ...


class InvalidWorkGroupSize(CLError, status=cl.CL_INVALID_WORK_GROUP_SIZE): ...


class InvalidWorkItemSize(CLError, status=cl.CL_INVALID_WORK_ITEM_SIZE): ...


class InvalidGlobalOffset(CLError, status=cl.CL_INVALID_GLOBAL_OFFSET): ...


class InvalidEventWaitList(CLError, status=cl.CL_INVALID_EVENT_WAIT_LIST): ...


class InvalidEvent(CLError, status=cl.CL_INVALID_EVENT): ...


class InvalidOperation(CLError, status=cl.CL_INVALID_OPERATION): ...


class InvalidBufferSize(CLError, status=cl.CL_INVALID_BUFFER_SIZE): ...


class InvalidGlobalWorkSize(CLError, status=cl.CL_INVALID_GLOBAL_WORK_SIZE): ...


class InvalidProperty(CLError, status=cl.CL_INVALID_PROPERTY): ...


class InvalidCompilerOptions(CLError, status=cl.CL_INVALID_COMPILER_OPTIONS): ...


class InvalidLinkerOptions(CLError, status=cl.CL_INVALID_LINKER_OPTIONS): ...


class InvalidPipeSize(CLError, status=cl.CL_INVALID_PIPE_SIZE): ...


class PipeFull(CLError, status=cl.CL_PIPE_FULL): ...


class PipeEmpty(CLError, status=cl.CL_PIPE_EMPTY): ...


BY_STATUS: dict[int, type[CLError]] = {kind.status: kind for kind in CLError.__subclasses__()}


def without_frames(error: CLError) -> CLError:
    """Removes the traceback of a caught error, and returns the error.

    A frame in it that has the error in a variable would keep itself, and all objects in its variables, until Python's
    collector runs: memory that the host has released would stay allocated.
    """
    error.__traceback__ = None
    return error


def error_of(status: int, words: str) -> CLError:
    """Returns the error for a status from elsewhere, such as the engine's driver or a fault.

    Statuses that fpgart itself never returns have no class of their own, and get one here.
    """
    name = cl.NAMES_OF_STATUS.get(status)
    if status not in BY_STATUS and name is not None:
        BY_STATUS[status] = type(name, (CLError,), {}, status=status)
    return BY_STATUS.get(status, OutOfResources)(words)
