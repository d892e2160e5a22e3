# SPDX-License-Identifier: Apache-2.0
"""`cl6x`, the C compiler for TI's DSP: Makefiles of TI's hosts look for it, also those that do not need it.

It compiles nothing: no engine runs code for the DSP.
"""

from __future__ import annotations

import sys

import click


def main() -> None:
    sources = [word for word in sys.argv[1:] if not word.startswith("-")]
    what = f"does not compile {', '.join(sources)}" if sources else "compiles nothing"
    click.echo(f"cl6x {what}: code for the DSP itself cannot run here; write it in OpenCL C", err=True)
    sys.exit(1)
