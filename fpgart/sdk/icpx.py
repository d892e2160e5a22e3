# SPDX-License-Identifier: Apache-2.0
"""`icpx`: SYCL programs for FPGAs (fpgart.icpx)."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

import click

from fpgart.base.standard_output import end_with
from fpgart.icpx.command_line import CommandLine, Wanted, expanded, read_command_line
from fpgart.icpx.compilation import become_host_compiler, compile_all
from fpgart.icpx.errors import IcpxError, PassFailed
from fpgart.icpx.pieces import SYCL_VERSION
from fpgart.sdk.early_image import board_for, write_report
from fpgart.version import __version__

FAILED = 1
HELP = """\
icpx -- compile SYCL programs for the FPGA emulator and the boards of fpgart

  icpx -fsycl -fintelfpga [options] <file>.cpp ...

  -o FILE, -c                   the program, default a.out; stop after objects
  -D, -U, -I, -include, -std, -O, -g, -W..., -f..., -m...   as for clang++
  -l, -L, -Wl,..., <file>.o, <file>.a    for the linker; objects may contain kernels
  -fsycl-link=early             a static library, and a page of interfaces, pipes and memories:
                                <name>.prj/reports/report.html
  -qactypes                     accepted: ac_int, ac_fixed and ac_complex are always found
  -fsycl-device-code-split=...  how kernels are distributed to device images
  -fsycl-host-compiler=PROGRAM  the compiler of the host's code, default clang++
  -Xstarget=, -Xsboard=, -Xs... accepted: they describe hardware, which is not made here
  @FILE                         read options from a file
  -v, --version, --help

Without -fsycl and -fintelfpga the source is compiled by clang++ alone.
"""
PLAIN = ("-fsycl", "-fintelfpga")


def compile_command(words: list[str]) -> int:
    """Runs `icpx`; exit status 0; 1 with one line, or with a compiler's log, on stderr."""
    try:
        given = expanded(words)
        if "--help" in given:
            click.echo(HELP, nl=False)
        elif "--version" in given:
            click.echo(f"fpgart {__version__}, in the place of Intel(R) oneAPI DPC++/C++ Compiler {SYCL_VERSION}")
        elif not any(word in PLAIN for word in given):
            become_host_compiler(given)
        else:
            _compile(read_command_line(given))
    except IcpxError as error:
        click.echo(f"icpx: {error}", err=True)
        return FAILED
    except PassFailed as failed:
        click.echo(failed.words.rstrip(), err=True)
        return FAILED
    except OSError as error:
        click.echo(f"icpx: {error.filename or ''}: {error.strerror}", err=True)
        return FAILED
    return 0


def _compile(asked: CommandLine) -> None:
    """Compiles, and writes the report of an early image; raises IcpxError, PassFailed or OSError."""
    board = board_for(asked.hardware) if asked.wanted is Wanted.EARLY_IMAGE else None
    modules = compile_all(asked)
    if board is not None:
        page = write_report(modules, board, asked)
        click.echo(f"icpx: {page} has interfaces, pipes, memories and attributes of loops", err=True)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """Ends by a signal only after the temporary files are removed."""
    sys.exit(128 + number)


def main() -> None:
    """Runs the program `icpx`."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    end_with("icpx", lambda: compile_command(sys.argv[1:]))
