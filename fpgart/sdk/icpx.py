# SPDX-License-Identifier: Apache-2.0
"""`icpx`: SYCL programs for FPGAs (fpgart.icpx)."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

import click

from fpgart.base.standard_output import end_with
from fpgart.icpx.command_line import CommandLine, Wanted, expanded, is_query, read_command_line
from fpgart.icpx.compilation import become_host_compiler, compile_all
from fpgart.icpx.errors import IcpxError, PassFailed
from fpgart.icpx.pieces import SYCL_VERSION
from fpgart.icpx.private_folder import SIGNALS
from fpgart.sdk.early_image import board_for, write_report
from fpgart.sdk.ending import status_of
from fpgart.version import __version__

HELP = """\
icpx -- compile SYCL programs for the FPGA emulator and the boards of fpgart

  icpx -fsycl -fintelfpga [options] <file>.cpp ...

  -o FILE, -c                   the program, default a.out; stop after objects
  -E, -M, -MM, -S, -fsyntax-only  as for clang++: stop earlier, with the host's text
  -D, -U, -I, -include, -std, -O, -g, -W..., -f..., -m...   as for clang++
  -l, -L, -Wl,..., <file>.o, <file>.a    for the linker; objects may contain kernels
  -fsycl-link=early             a static library, and a page of interfaces, pipes and memories:
                                <name>.prj/reports/report.html
  -fsycl-link=image             the same without the page
  -qactypes                     accepted: ac_int, ac_fixed and ac_complex are always found
  -fsycl-device-code-split=...  per_kernel, per_source, off (default), auto (off): the device images
  -fsycl-host-compiler=PROGRAM  the compiler of the host's code, default clang++
  -Xstarget=, -Xsboard=, -Xs... accepted: they describe hardware, which is not made here
  @FILE                         read options from a file
  -v, --version, --help

Without -fsycl and -fintelfpga the source is compiled by clang++ alone.
"""
PLAIN = ("-fsycl", "-fintelfpga")


def compile_command(words: list[str]) -> int:
    """Runs `icpx`; exit status 0; 1 with one line, or with a compiler's log, on stderr."""
    return status_of("icpx", lambda: _answer(words), (), refused=(PassFailed,), failed=(IcpxError,))


def _answer(words: list[str]) -> None:
    """Raises IcpxError, PassFailed or OSError."""
    given = expanded(words)
    if "--help" in given:
        click.echo(HELP, nl=False)
    elif "--version" in given:
        click.echo(f"fpgart {__version__}, in the place of Intel(R) oneAPI DPC++/C++ Compiler {SYCL_VERSION}")
    elif not any(word in PLAIN for word in given) or is_query(given):
        become_host_compiler(given)
    else:
        asked = read_command_line(given)
        if asked.end and not asked.sources:
            become_host_compiler(given)
        _compile(asked)


def _compile(asked: CommandLine) -> None:
    """Compiles, and writes the report of an early image; raises IcpxError, PassFailed or OSError."""
    board = board_for(asked.hardware) if asked.wanted is Wanted.EARLY_IMAGE else None
    modules = compile_all(asked)
    if board is not None:
        page = write_report(modules, board, asked)
        click.echo(f"icpx: {page} has interfaces, pipes, memories and attributes of loops", err=True)


class Signalled(BaseException):
    """Raised by a signal, so that temporary files are removed before it ends the program."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    raise Signalled(number)


def main() -> None:
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as for nohup
            signal.signal(number, _leave)
    try:
        end_with("icpx", lambda: compile_command(sys.argv[1:]))
    except Signalled as ended:
        signal.signal(ended.number, signal.SIG_DFL)
        signal.raise_signal(ended.number)
