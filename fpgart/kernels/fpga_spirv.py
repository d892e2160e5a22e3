# SPDX-License-Identifier: Apache-2.0
"""SPIR-V for FPGAs: pipes, the kernels that use them, and the variables and pipes that the host names."""

from __future__ import annotations

from collections.abc import Iterator

from fpgart.base.named_tuples import NamedTuple
from fpgart.kernels.spirv import Decoration, Module, Op, text_of

CAPABILITIES = (17, 5945)
"""The capabilities Pipes and BlockingPipesINTEL."""
PIPE_TYPE = "struct.ConstantPipeStorage"
LAST_OF_PIPES = 288
"""The last of the instructions of pipes, the first of which is OpReadPipe."""
CALL_OF_POINTER = 5601
CREATE_TASK_SEQUENCE = 6163
CALLS = frozenset((Op.CALL, CREATE_TASK_SEQUENCE))
USES_OF_PIPES = frozenset((
    *range(Op.READ_PIPE, LAST_OF_PIPES + 1), Op.PIPE_FROM_STORAGE, Op.READ_PIPE_BLOCKING, Op.WRITE_PIPE_BLOCKING,
    CALL_OF_POINTER,
))  # fmt: skip
"""A function that is called by its address counts as one that uses pipes, because it is not known."""


class HostVariable(NamedTuple):
    """A variable or pipe that the host names: its id, its bytes and those of a packet, 0 if they are unknown."""

    id: int
    size: int
    packet: int


class PipeFacts(NamedTuple):
    """A pipe between kernels: the bytes of a packet, the packets that it holds, and the kernels that use it."""

    name: str
    packet: int
    capacity: int
    kernels: tuple[str, ...]


def variables_of_host(module: Module) -> dict[str, HostVariable]:
    """Returns the variables and pipes that the host names."""
    return {
        text_of(name): HostVariable(id, module.layout(_type_of(module, id))[0], _pipe(module, id)[0])
        for id, (_, *name) in module.decorated(Decoration.HOST_ACCESS, Decoration.OLD_HOST_ACCESS)
    }


def pipes(module: Module) -> Iterator[PipeFacts]:
    """Yields the pipes between kernels."""
    for id, (_, initial) in module.variables.items():
        if initial and module.name(_type_of(module, id)).startswith(PIPE_TYPE):
            users = tuple(name for name, kernel in module.kernels.items() if id in kernel.variables)
            yield PipeFacts(module.name(id), *_pipe(module, id), users)


def kernels_with_pipes(module: Module) -> frozenset[str]:
    """Returns the kernels that use pipes, in their own functions or in others that they call or start."""
    if not any(capability in CAPABILITIES for _, (capability, *_) in module.declared(Op.CAPABILITY)):
        return frozenset()
    callers: dict[int, set[int]] = {}
    users: list[int] = []
    for function, code, operands in module.in_functions(USES_OF_PIPES | CALLS):
        if code in USES_OF_PIPES:
            users.append(function)
        elif len(operands) > 2:
            callers.setdefault(operands[2], set()).add(function)
    found = set[int]()
    while users:
        user = users.pop()
        if user not in found:
            found.add(user)
            users.extend(callers.get(user, ()))
    return frozenset(name for name, kernel in module.kernels.items() if kernel.function in found)


def _type_of(module: Module, id: int) -> int:
    """Returns the type of what a variable contains."""
    return module.pointee(module.variables.get(id, (0, []))[0])


def _pipe(module: Module, id: int) -> tuple[int, int]:
    """Returns the bytes of a packet and the capacity of a pipe: the first and third number in its variable."""
    _, initial = module.variables.get(id, (0, []))
    match module.composites.get(initial[0] if initial else 0, []):
        case [packet, _, capacity, *_]:
            return module.constants.get(packet, 0), module.constants.get(capacity, 0)
    return 0, 0
