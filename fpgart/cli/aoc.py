# SPDX-License-Identifier: Apache-2.0
"""`fpgart aoc` and `fpgart aocx`: making program containers, and looking into them."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from fpgart.aocx import container as sections
from fpgart.aocx.autodiscovery import parse
from fpgart.aocx.checks import check
from fpgart.aocx.compiler import CompileError, Options, compile_file
from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError
from fpgart.aocx.system import AddressSpace, Argument, Autodiscovery, Kernel
from fpgart.board.board_spec import BoardSpecError
from fpgart.board.catalogue import describe, shipped, with_separate_banks
from fpgart.engine.choice import choose_engine
from fpgart.watch.words import in_words, times

DEFAULT_BOARD = "usm_s10"
# Options of aoc that say where hardware is made, or how; they change nothing here.
WITHOUT_VALUE = re.compile(
    r"-(v|g|g0|c|rtl|S|q|W|Werror|fast-compile|high-effort|profile(=.*)?|ffp-.*|fp-relaxed|fpc"
    r"|emulator-channel.*|incremental.*|sim.*|march=.*|seed=.*|clock=.*|parallel=.*|time.*|dep-files.*|L.*|bsp-flow=.*"
    r"|global-ring|global-tree|duplicate-ring|force-single-store-ring|hyper-optimized.*|num-reorder=.*|opt-arg=.*"
    r"|const-cache-bytes=.*|report-.*)"
)


class UsageError(Exception):
    """An argument that `aoc` does not take; the sentence says which."""


@dataclass
class CommandLine:
    """What `fpgart aoc` was asked for."""

    sources: list[Path] = field(default_factory=list)
    output: Path | None = None
    board: str = DEFAULT_BOARD
    compiler: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    separate: list[str] = field(default_factory=list)
    """Memories whose banks shall not be interleaved."""
    report: bool = False


def read_command_line(words: list[str]) -> CommandLine:
    """Options as `aoc` spells them, with one or two dashes; raises UsageError."""
    made = CommandLine()
    rest = iter(words)

    def value(word: str, name: str) -> str:
        if "=" in word:
            return word.partition("=")[2]
        try:
            return next(rest)
        except StopIteration:
            raise UsageError(f"{name} needs a value") from None

    for word in rest:
        option = word[1:] if word.startswith("--") else word
        if not word.startswith("-"):
            made.sources.append(Path(word))
        elif option == "-o" or option.startswith(("-o=", "-output-report-folder")):
            made.output = Path(value(word, "-o"))
        elif option == "-board" or option.startswith("-board="):
            made.board = value(word, "-board")
        elif option == "-report":
            made.report = True
        elif option[:2] in ("-I", "-D", "-l"):
            full = word if len(word) > 2 else word + value("", word)
            (made.noted if option[:2] == "-l" else made.compiler).append(full)
        elif option == "-no-interleaving" or option.startswith("-no-interleaving="):
            made.separate.append(option.partition("=")[2] or "all")
            made.noted.append(option)
        elif option.startswith("-cl-"):
            made.compiler.append(option)
        elif WITHOUT_VALUE.fullmatch(option):
            made.noted.append(word)
        else:
            raise UsageError(f"{word} is no option of aoc")
    if len(made.sources) != 1:
        raise UsageError(f"{times(len(made.sources), 'source')} given, one is wanted")
    return made


def compile_command(words: list[str]) -> int:
    """`fpgart aoc`: exit status 0, or 1 with the compiler's words on stderr."""
    try:
        asked = read_command_line(words)
        board = with_separate_banks(describe(asked.board), asked.separate)
    except (UsageError, BoardSpecError) as error:
        click.echo(f"fpgart aoc: {error}", err=True)
        return 2
    source = asked.sources[0]
    for word in asked.noted:
        if word.startswith(("-no-interleaving", "-l", "-L")):
            continue
        click.echo(f"fpgart aoc: note: {word} changes nothing here", err=True)
    try:
        options = Options(tuple(asked.compiler), tuple(asked.noted))
        made = compile_file(source, board, options, choose_engine(), tell_warnings)
    except CompileError as error:
        click.echo(str(error).rstrip() or "error: the compiler gave no reason", err=True)
        return 1
    except (AocxError, OSError) as error:
        click.echo(f"fpgart aoc: {error}", err=True)
        return 1
    target = asked.output or source.with_suffix(".aocx")
    target.write_bytes(made.encode())
    if asked.report:
        click.echo(describe_container(made), nl=False)
    return 0


def tell_warnings(words: str) -> None:
    """What the compiler says of a program that it took."""
    if words:
        click.echo(words, err=True)


def describe_container(container: Container) -> str:
    """Sections, and the autodiscovery as a table."""
    lines = ["sections"]
    lines += [f"  {name:<28} {in_words(len(data))}" for name, data in container.sections.items()]
    if sections.AUTODISCOVERY in container:
        lines += _system(parse(container.text(sections.AUTODISCOVERY)))
    return "\n".join(lines) + "\n"


def _system(system: Autodiscovery) -> list[str]:
    lines = ["", f"board {system.board}, program {system.random_hash}", "", "memories"]
    for memory in system.memories:
        spread = "interleaved" if memory.interleaved else "separate"
        banks = f"{memory.banks} banks, {spread}" if memory.banks > 1 else "1 bank"
        lines.append(f"  {memory.name:<10} {memory.begin:#x} to {memory.end:#x}, {banks}")
    for pipe in system.host_pipes:
        lines.append(f"  host pipe {pipe.name}: {pipe.width} bytes wide, {pipe.depth} deep")
    for variable in system.device_globals:
        lines.append(f"  device global {variable.name}: {variable.size} bytes at {variable.address:#x}")
    lines += ["", "kernels"]
    for kernel in system.kernels:
        lines += _kernel(kernel)
    return lines


def _kernel(kernel: Kernel) -> list[str]:
    facts = []
    if any(kernel.required_work_group_size):
        facts.append(f"work-groups of {' x '.join(map(str, kernel.required_work_group_size))}")
    if kernel.vector_lanes > 1:
        facts.append(f"{kernel.vector_lanes} lanes")
    if kernel.max_global_work_dim < 3:
        facts.append(f"at most {times(kernel.max_global_work_dim, 'dimension')}")
    if not kernel.uses_global_work_offset:
        facts.append("no global offset")
    lines = [f"  {kernel.name}{': ' + ', '.join(facts) if facts else ''}"]
    lines += [f"    {index} {_argument(argument)}" for index, argument in enumerate(kernel.arguments)]
    return lines


def _argument(argument: Argument) -> str:
    space = "value" if argument.space is AddressSpace.NONE else argument.space.name.lower()
    where = f", in {argument.buffer_location}" if argument.buffer_location else ""
    name = f"{argument.type_name} {argument.name}".strip() or "(hidden)"
    return f"{name:<24} {space}, {argument.size} bytes{where}"


@click.group()
def aocx() -> None:
    """Look into .aocx and .aocr files, those of real boards too."""


FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))


@aocx.command()
@FILE
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def show(file: Path, as_json: bool) -> None:
    """Show sections, memories, kernels and their arguments."""
    container = Container.read(file)
    if not as_json:
        click.echo(describe_container(container), nl=False)
        return
    facts: dict[str, object] = {"sections": {name: len(data) for name, data in container.sections.items()}}
    if sections.AUTODISCOVERY in container:
        facts["system"] = asdict(parse(container.text(sections.AUTODISCOVERY)))
    click.echo(json.dumps(facts, indent=2))


@aocx.command()
@FILE
@click.argument("section", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File (one section) or folder (all of them).")
def extract(file: Path, section: str | None, output: Path | None) -> None:
    """Write a section to a file or to standard output; without SECTION all of them into a folder."""
    container = Container.read(file)
    if section is not None:
        data = container[section if section.startswith(".") else f".acl.{section}"]
        if output is None:
            sys.stdout.buffer.write(data)
        else:
            output.write_bytes(data)
        return
    folder = output or file.with_suffix(file.suffix + ".sections")
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in container.sections.items():
        (folder / name.lstrip(".").replace("/", "_")).write_bytes(data)
    click.echo(f"{times(len(container.sections), 'section')} in {folder}")


@aocx.command("check")
@FILE
@click.option("--board", default="", help="Board that it is for (default: the one that the file names).")
def check_file(file: Path, board: str) -> None:
    """Say whether a file would be loaded; exit status 1 if not."""
    container = Container.read(file)
    name = board or container.text(sections.BOARD)
    if not board and name not in shipped():
        raise AocxError(f"it is for board '{name}', which does not come with fpgart: give --board")
    system = check(container, describe(name))
    click.echo(f"{file}: fits board '{name}', {times(len(system.kernels), 'kernel')}")
