# SPDX-License-Identifier: Apache-2.0
"""The kernels of a SPIR-V module that may wait for others, because they use pipes.

Numbers are those of the SPIR-V specification 1.6, SPV_INTEL_blocking_pipes, SPV_INTEL_task_sequence and
SPV_INTEL_function_pointers.
"""

from __future__ import annotations

from fpgart.kernels.spirv import KERNEL_MODEL, heads, text_of, words_of
from fpgart.kernels.spirv_code import Op

LAST_OF_PIPES = 288
"""The last of the instructions of pipes, the first of which is OpReadPipe."""
CALL_OF_POINTER = 5601
CREATE_TASK_SEQUENCE = 6163
USES_OF_PIPES = frozenset((
    *range(Op.READ_PIPE, LAST_OF_PIPES + 1), Op.PIPE_FROM_STORAGE, Op.READ_PIPE_BLOCKING, Op.WRITE_PIPE_BLOCKING,
    CALL_OF_POINTER,
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
        elif code in (Op.CALL, CREATE_TASK_SEQUENCE) and length > 3:
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
