# SPDX-License-Identifier: Apache-2.0
"""Kernels of SPIR-V that may poll what other commands write, as polling.py finds them in OpenCL C."""

from __future__ import annotations

from fpgart.kernels.spirv import Decoration, Module, Op
from fpgart.kernels.spirv_kernels import imports

MEMORY_BARRIERS = {224: 2, 225: 1}
"""The control barrier and the memory barrier, and which operand has the memory semantics."""
CROSS_WORKGROUP = 0x200
ATOMICS = (*range(227, 243), 318, 319, 5614, 5615, 6035)
ASSEMBLY_CALL = 5611
ACCESSES = {Op.LOAD: 3, Op.STORE: 2, 63: 2, Op.COPY_SIZED: 3}
"""The instructions that access memory, and which operand has the bit for volatile ones."""
VOLATILE = 1
BRANCHES = {Op.BRANCH: slice(1), Op.BRANCH_CONDITIONAL: slice(1, 3), Op.SWITCH: slice(1, None)}
"""The branches, and which of their operands have labels; numbers among those do no harm."""


def may_poll(module: Module) -> bool:
    """True unless the kernels of the module have no loop, or no read that a compiler has to repeat in one."""
    decorations = (kind for _, (_, kind, *_) in module.declared(Op.DECORATE, least=2))
    is_readable = next(module.instructions(), None) is not None
    if not is_readable or imports(module) or Decoration.VOLATILE in decorations:
        return True
    codes = {*MEMORY_BARRIERS, *ATOMICS, ASSEMBLY_CALL, *ACCESSES, *BRANCHES, Op.LABEL}
    seen: set[int] = set()
    repeats = loops = False
    for _, code, operands in module.in_functions(codes):
        if code == Op.LABEL:
            seen.update(operands[:1])
        elif code in BRANCHES:
            loops |= not seen.isdisjoint(operands[BRANCHES[code]])
        else:
            repeats |= _is_repeated(module, code, operands)
    return repeats and loops


def _is_repeated(module: Module, code: int, operands: list[int]) -> bool:
    if code in ACCESSES:
        return any(bits & VOLATILE for bits in operands[ACCESSES[code] : ACCESSES[code] + 1])
    if code in MEMORY_BARRIERS:
        semantics = [module.constants.get(id, CROSS_WORKGROUP) for id in operands[MEMORY_BARRIERS[code] :]]
        return any(each & CROSS_WORKGROUP for each in semantics)
    return True
