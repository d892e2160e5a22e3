# SPDX-License-Identifier: Apache-2.0
"""Commands that build kernels and hosts: the compilers, containers, flags and the SDK folder."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fpgart.base import registration


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def aoc(words: tuple[str, ...]) -> None:
    """Compile OpenCL C into an .aocx for a board, as Intel's aoc does (`fpgart aoc -help`)."""
    from fpgart.sdk.aoc import compile_command

    sys.exit(compile_command(list(words)))


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def aocl(words: tuple[str, ...]) -> None:
    """Do what Intel's aocl does: flags for hosts, boards, containers (`fpgart aocl help`)."""
    from fpgart.sdk.aocl import run as answer

    sys.exit(answer(list(words)))


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def clocl(words: tuple[str, ...]) -> None:
    """Compile OpenCL C for a 66AK2x, as TI's clocl does (`fpgart clocl --help`)."""
    from fpgart.sdk.clocl import run as compile_for_dsp

    sys.exit(compile_for_dsp(list(words)))


@click.command()
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(file_okay=False, path_type=Path))
def sdk(folder: Path | None) -> None:
    """Create an SDK folder (aocl, aoc, headers, libraries, boards) and print the shell commands that activate it.

    eval "$(fpgart sdk)"; make
    """
    from fpgart.sdk import folder as folders

    click.echo(folders.export_lines(folders.lay_out(folder or folders.default_root())), nl=False)


@click.command()
def cflags() -> None:
    """Print the compiler flags for hosts."""
    from fpgart.sdk import folder as folders

    click.echo(f"-I{folders.HEADERS}")


@click.command()
@click.option("--cmake-dir", "place", flag_value="cmake", help="Print the folder for -Dfpgart_DIR=... instead.")
@click.option("--pkg-config-dir", "place", flag_value="pkgconfig", help="Print the folder for PKG_CONFIG_PATH instead.")
def libs(place: str | None) -> None:
    """Print the linker flags for hosts that use this driver as their OpenCL library, without a loader.

    cc host.c $(fpgart cflags) $(fpgart libs)
    """
    from fpgart.sdk import folder as folders

    straight = f"-L{registration.PACKAGE} -Wl,-rpath,{registration.PACKAGE} -lalteracl -lfpgart"
    click.echo({"cmake": folders.CMAKE, "pkgconfig": folders.PKG_CONFIG}.get(place or "", straight))


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def aocx(words: tuple[str, ...]) -> None:
    """Show, extract or check an .aocx or .aocr file."""
    from fpgart.sdk.aoc import aocx as group

    if words and Path(words[0]).suffix in (".aocx", ".aocr"):
        raise click.UsageError(
            f"there is no command '{words[0]}'; to see what the file contains: fpgart aocx show {words[0]}"
        )
    group(list(words), prog_name="fpgart aocx", standalone_mode=False)
