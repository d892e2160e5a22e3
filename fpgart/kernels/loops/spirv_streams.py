# SPDX-License-Identifier: Apache-2.0
"""The loops and pipes of programs in SPIR-V, as kernel_streams.py finds loops and channels in a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fpgart.kernels.fpga_spirv import pipes, variables_of_host
from fpgart.kernels.loops.kernel_loops import KernelLoops
from fpgart.kernels.loops.kernel_streams import Channel, Streams, connected
from fpgart.kernels.loops.spirv_loops import loops_of_code
from fpgart.kernels.spirv import Module
from fpgart.kernels.spirv_code import read_code


def spirv_streams(modules: Iterable[bytes], specialized: Mapping[int, bytes]) -> Streams:
    """Reads all modules of a program; `specialized` are the values of specialisation constants, by their numbers."""
    kernels: dict[str, KernelLoops] = {}
    channels: dict[str, Channel] = {}
    used: dict[str, frozenset[str]] = {}
    for il in modules:
        module = Module(il)
        of_host = {module.name(variable.id) for variable in variables_of_host(module).values()}
        kernels |= loops_of_code(read_code(module, specialized))
        for pipe in pipes(module):
            channels[pipe.name] = Channel(pipe.capacity, outside=pipe.name in of_host)
            for kernel in kernels.keys() & pipe.kernels:  # damaged code lacks functions of kernels
                used[kernel] = used.get(kernel, frozenset()) | {pipe.name}
    return connected(kernels, channels, used, {})
