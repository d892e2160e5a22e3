# SPDX-License-Identifier: Apache-2.0
"""The program on a board, and the execution of its kernels on the board's memory."""

from __future__ import annotations

from collections.abc import Callable

from fpgart.aocx.binary import SIGNATURE, ProgramBinary
from fpgart.aocx.compiler import SOURCE_ENGINE, describe_kernels, sizes_of_structures
from fpgart.aocx.system import AddressSpace, Argument, DescribedKernel, TypeQualifier
from fpgart.base.errors import CLError
from fpgart.board.description import BoardDescription
from fpgart.board.invocation import FIXED, GLOBAL_POINTER, LOCAL_POINTER
from fpgart.engine.interface import (
    BYTES,
    LOCAL,
    NULL,
    POINTER,
    SIZES,
    BuildFailed,
    BuiltProgram,
    Engine,
    KernelLaunch,
    pack_arguments,
)
from fpgart.mmd.errors import MmdError

SizedArgument = tuple[int, int, int | bytes]


class LoadedProgram:
    """The built kernels of an image.

    `place` returns the address in this process for a pointer of the host.
    """

    def __init__(self, kernels: tuple[DescribedKernel, ...], built: BuiltProgram, place: Callable[[int], int]) -> None:
        self.kernels = kernels
        self._built = built
        self._place = place
        self._network = built.network()

    @classmethod
    def load(cls, image: bytes, board: BoardDescription, engine: Engine, place: Callable[[int], int]) -> LoadedProgram:
        """Returns the program of an image (.acl.fpga.bin of an .aocx). Raises MmdError."""
        if not image.startswith(SIGNATURE):
            raise MmdError(
                f"the {len(image)} bytes are no image of `fpgart aoc`: what was compiled for a real board "
                "has nothing that could run here"
            )
        if engine.works_on_own_buffers:
            raise MmdError(f"engine '{engine.name}' has to know the sizes of buffers, which boards do not know")
        try:
            binary = ProgramBinary.decode(image)
            if binary.engine != SOURCE_ENGINE:
                raise MmdError(f"the image was made with engine '{binary.engine}', not from {SOURCE_ENGINE}")
            source = binary.payload.decode(errors="surrogateescape")
            built = engine.from_source(source)
            build_options = board.build_options(binary.options)
            built.build(build_options)
            sizes = sizes_of_structures(binary.interfaces, source, build_options, engine)
            kernels = describe_kernels(binary.interfaces, built, source, binary.options, sizes)
            return cls(kernels, built, place)
        except BuildFailed as failed:
            raise MmdError(f"engine '{engine.name}' does not build the image's source: {failed.log}") from None
        except CLError as error:
            raise MmdError(f"the image cannot be loaded: {error}") from None

    def run(self, kernel: DescribedKernel, image: bytes) -> None:
        """Runs a kernel to its end with an invocation image. Raises MmdError."""
        dimensions, _, *words = FIXED.unpack_from(image)
        total, local, offset = words[0:3], words[6:9], words[9:12]
        total[0] *= kernel.vector_lanes
        local[0] *= kernel.vector_lanes
        arguments = pack_arguments(self._arguments(kernel, image))
        try:
            engine_kernel = self._built.kernel(kernel.name)
            sizes, has_local = SIZES.pack(*offset, *total, *local), not kernel.work_group_invariant
            engine_kernel.launch(KernelLaunch(arguments, dimensions, sizes, has_local, network=self._network))
            engine_kernel.launched = True
        except CLError as error:
            raise MmdError(str(error)) from None

    def stop(self) -> None:
        """Ends autorun kernels, before another program is loaded."""
        if self._network is not None:
            self._network.stop()

    def _arguments(self, kernel: DescribedKernel, image: bytes) -> list[SizedArgument]:
        begin, found = FIXED.size, []
        for index, argument in enumerate(kernel.arguments):
            try:
                found.append(self._argument(argument, image[begin : begin + argument.size]))
            except MmdError as error:
                raise MmdError(f"argument {index} ('{argument.name}'): {error}") from None
            begin += argument.size
        return found

    def _argument(self, argument: Argument, value: bytes) -> SizedArgument:
        """Returns the engine's form of an argument. Local memory has the size that the compiler chose."""
        if TypeQualifier.PIPE in argument.qualifiers:
            raise MmdError("pipes that are arguments need the driver, libfpgart.so; channels do not")
        if argument.space is AddressSpace.LOCAL:
            (at,) = LOCAL_POINTER.unpack(value)
            if at >= argument.local_bytes:
                raise MmdError(f"offset {at} is not within its {argument.local_bytes} bytes of local memory")
            return LOCAL, argument.local_bytes - at, 0
        if argument.space is AddressSpace.NONE:
            return BYTES, len(value), value
        (pointer,) = GLOBAL_POINTER.unpack(value)
        return (POINTER, 8, self._place(pointer)) if pointer else (NULL, 8, 0)
