# SPDX-License-Identifier: Apache-2.0
"""A header of the SYCL runtime without a requirement that Intel's compilers for FPGAs did not have.

They accepted kernel functors whose member get(properties_tag) is not const. The copy is made of the installed header
for each compilation.
"""

from __future__ import annotations

import re
from pathlib import Path

from fpgart.icpx.pieces import SyclRuntime

HEADER = Path("sycl", "detail", "kernel_launch_helper.hpp")
DEMAND = re.compile(
    r"static_assert\(\s*\(ext::oneapi::experimental::detail::HasKernelPropertiesGetMethod<"
    r'[^;]*?must be declared as a const member function"\);'
)


def write_headers(runtime: SyclRuntime, folder: Path) -> Path:
    """Writes the header below a folder, which precedes the runtime's own; returns the folder."""
    made = folder / "headers"
    file = made / HEADER
    file.parent.mkdir(parents=True)
    file.write_text(DEMAND.sub("", (runtime.headers / HEADER).read_text()))
    return made
