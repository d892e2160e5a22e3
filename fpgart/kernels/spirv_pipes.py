# SPDX-License-Identifier: Apache-2.0
"""The kernels of a SPIR-V module that may wait for others, because they use pipes.

Numbers are those of the SPIR-V specification 1.6, SPV_INTEL_blocking_pipes, SPV_INTEL_task_sequence and
SPV_INTEL_function_pointers.
"""

from __future__ import annotations

import enum

from fpgart.kernels.spirv import KERNEL_MODEL, heads, text_of, words_of


class Op(enum.IntEnum):
    """The instructions that are read."""

    ENTRY_POINT = 15
    FUNCTION = 54
    CALL = 57
    READ_PIPE = 274
    LAST_OF_PIPES = 288
    PIPE_FROM_STORAGE = 324
    CALL_OF_POINTER = 5601
    READ_PIPE_BLOCKING = 5946
    WRITE_PIPE_BLOCKING = 5947
    CREATE_TASK_SEQUENCE = 6163


USES_OF_PIPES = frozenset((
    *range(Op.READ_PIPE, Op.LAST_OF_PIPES + 1), Op.PIPE_FROM_STORAGE, Op.READ_PIPE_BLOCKING, Op.WRITE_PIPE_BLOCKING,
    Op.CALL_OF_POINTER,
))  # fmt: skip
"""A function that is called by its address counts as one that uses pipes, because it is not known."""


def kernels_with_pipes(il: bytes) -> frozenset[str]:
    """Returns the kernels that use pipes, in their own functions or in others that they call or start."""
    words = words_of(il)
    kernels: list[tuple[int, str]] = []
    callers: dict[int, set[int]] = {}
    users: list[int] = []
    function = 0
    for code, at, length in heads(words):
        operands = words[at + 1 : at + length]
        if code in USES_OF_PIPES:
            users.append(function)
        elif code == Op.FUNCTION and length > 2:
            function = operands[1]
        elif code in (Op.CALL, Op.CREATE_TASK_SEQUENCE) and length > 3:
            callers.setdefault(operands[2], set()).add(function)
        elif code == Op.ENTRY_POINT and length > 3 and operands[0] == KERNEL_MODEL:
            kernels.append((operands[1], text_of(operands[2:].tolist())))
    found = set[int]()
    while users:
        user = users.pop()
        if user not in found:
            found.add(user)
            users.extend(callers.get(user, ()))
    return frozenset(name for id, name in kernels if id in found)
