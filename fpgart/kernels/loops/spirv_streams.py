# SPDX-License-Identifier: Apache-2.0
"""The loops and pipes of programs in SPIR-V, as kernel_streams.py finds loops and channels in a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fpgart.kernels.loops.kernel_loops import KernelLoops
from fpgart.kernels.loops.kernel_streams import Channel, Streams, connected
from fpgart.kernels.loops.spirv_loops import loops_of_code
from fpgart.kernels.spirv_code import read_code
from fpgart.kernels.spirv_facts import read_facts


def spirv_streams(modules: Iterable[bytes], specialized: Mapping[int, bytes]) -> Streams:
    """Reads all modules of a program; `specialized` are the values of specialisation constants, by their numbers."""
    kernels: dict[str, KernelLoops] = {}
    channels: dict[str, Channel] = {}
    used: dict[str, frozenset[str]] = {}
    for il in modules:
        code = read_code(il, specialized)
        of_host = {code.names.get(id, "") for id in code.module.names.values()}
        kernels |= loops_of_code(code)
        for pipe in read_facts(il).pipes:
            channels[pipe.name] = Channel(pipe.capacity, outside=pipe.name in of_host)
            for kernel in pipe.kernels:
                used[kernel] = used.get(kernel, frozenset()) | {pipe.name}
    return connected(kernels, channels, used, {})
