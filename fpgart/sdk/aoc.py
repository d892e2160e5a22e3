# SPDX-License-Identifier: Apache-2.0
"""`aoc`, which makes program containers, and `fpgart aocx`, which shows their contents."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click

from fpgart.aocx import container as sections
from fpgart.aocx import libraries
from fpgart.aocx.autodiscovery import parse
from fpgart.aocx.checks import check
from fpgart.aocx.compiler import Options, ignore
from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError
from fpgart.aocx.report import as_page
from fpgart.aocx.steps import EARLY, OBJECT, Step, early, joined, object_of, text_of, unit_of
from fpgart.aocx.system import AddressSpace, Argument, Autodiscovery, DescribedKernel
from fpgart.aocx.units import Text, Unit, check_text, compile_text, embedded, preprocessed, read_unit, with_libraries
from fpgart.base import config
from fpgart.base.config import OptionError
from fpgart.base.output_file import is_same_file
from fpgart.base.sizes import in_words
from fpgart.base.standard_output import end_with
from fpgart.board.board_spec import BoardSpecError
from fpgart.board.catalogue import describe, shipped, with_separate_banks
from fpgart.board.description import BoardDescription
from fpgart.engine.choice import choose_engine
from fpgart.engine.interface import Engine
from fpgart.kernels.lowering import depth_pragma
from fpgart.sdk.aoc_options import Answer, CommandLine, Last, UsageError, changes_nothing, read_command_line
from fpgart.sdk.board_packages import BoardPackage, default_board, describe_board, package_of
from fpgart.sdk.ending import status_of
from fpgart.sdk.folder import INTEL_VERSION
from fpgart.version import __version__
from fpgart.watch.words import times

SPECIFICATION = ".xml"
HELP = """\
aoc -- compile OpenCL C into containers for the boards of fpgart

  aoc [options] <file>.[cl|aoco|aocr] ...

One step:     aoc kernel.cl -o kernel.aocx
Three steps:  aoc -c kernel.cl; aoc -rtl kernel.aoco; aoc kernel.aocr

  -o FILE                       the output, .aocx without an ending; default: the last source, in the working folder
  -c, -rtl                      stop after objects (.aoco; of .xml, too), or after kernels and interfaces (.aocr)
  -march=emulator               a container that every board loads
  -board=NAME, -board-package=FOLDER, -list-boards, -list-board-packages
  -D NAME[=VALUE], -I FOLDER    for the preprocessor; AOCL_BOARD_<board> is defined
  -l LIBRARY, -L FOLDER         use the OpenCL C models in a library; where to look for it
  -W, -Werror, -cl-...          for the compiler
  -no-interleaving=MEMORY       separate banks; `default`: the first memory of the board; no name: all memories
  -report                       also write a page of interfaces, channels, memories, loops: <name>/reports/report.html
  -v, -version, -help

Options for making hardware (-seed, -fmax, -parallel, -high-effort, -profile, -fp-relaxed, ...) are recorded in the
container and have no other effect.
"""


def compile_command(words: list[str]) -> int:
    """Runs `aoc`; exit status 0; 1 with the compiler's log on stderr; 2 for an invalid command line."""
    return status_of("aoc", lambda: compile_all(words), (UsageError, BoardSpecError, OptionError))


def compile_all(words: list[str]) -> None:
    """Does the work of the command line; raises the errors that status_of() reports."""
    asked = read_command_line(words)
    package = package_of(asked.package)
    if asked.answer is not None or not words:
        click.echo(answer(asked.answer or Answer.HELP, package), nl=False)
        return
    job = Job.of(asked, package)
    without_effect = changes_nothing(asked)
    if without_effect:
        changes = "has" if len(without_effect) == 1 else "have"
        click.echo(f"aoc: note: {', '.join(without_effect)} {changes} no effect here", err=True)
    job.run()


def main() -> None:
    end_with("aoc", lambda: compile_command(sys.argv[1:]))


def answer(question: Answer, package: BoardPackage | None) -> str:
    """Returns the answers to questions among the options."""
    if question is Answer.HELP:
        return HELP
    if question is Answer.VERSION:
        return (
            f"fpgart {__version__}, in the place of Intel(R) FPGA SDK for OpenCL(TM), 64-Bit Offline Compiler\n"
            f"Version {INTEL_VERSION} Build 0\n"
        )
    if question is Answer.PACKAGES:
        root = package.root if package else "(the boards that come with fpgart)"
        return f"Installed board packages:\n  {root}\n"
    default = default_board(package)
    names = sorted({*shipped(), *(package.boards if package else ())})
    lines = ["Board list:"]
    for name in names:
        board = describe_board(name, package)
        lines.append(f"  {name}{' (default)' if name == default else ''}")
        if package is not None and name in package.boards:
            lines.append(f"     Board Package: {package.root}")
        lines.append(f"     Memories:      {', '.join(memory.name for memory in board.memories)}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Job:
    """A compilation, and its board."""

    asked: CommandLine
    board: BoardDescription
    separate: tuple[str, ...]
    inputs: dict[Path, tuple[Container, Step]]
    """The contents of the inputs that earlier steps made."""

    @classmethod
    def of(cls, asked: CommandLine, package: BoardPackage | None) -> Job:
        """Creates a job; raises UsageError, BoardSpecError, OptionError or AocxError if it cannot be done."""
        if not asked.sources:
            raise UsageError("nothing to compile: name a .cl, .aoco or .aocr file")
        finished = next((path for path in asked.sources if path.suffix == Last.IMAGE.value), None)
        if finished is not None:
            raise UsageError(f"{finished} is already compiled: name a .cl, .aoco or .aocr file")
        specification = next((path for path in asked.sources if path.suffix == SPECIFICATION), None)
        if specification is not None and asked.last is not Last.OBJECT:
            raise UsageError(f"{specification} is the specification of a library: -c makes an object of it")
        if asked.last is Last.OBJECT and asked.output and len(asked.sources) > 1:
            raise UsageError(f"-o {asked.output} is one file, -c makes {len(asked.sources)}, one for each source")
        _check_output(asked)
        inputs = {path: _earlier(path) for path in asked.sources if path.suffix in (".aoco", ".aocr")}
        _check_inputs(asked, inputs)
        steps = [step for _, step in inputs.values()]
        board = _board_for(asked, package, steps)
        separate = tuple(asked.separate) or (steps[0].separate if steps else ())
        return cls(asked, with_separate_banks(board, _memories(asked, board, separate)), separate, inputs)

    def run(self) -> None:
        """Writes the files; raises CompileError, AocxError or OSError."""
        engine = choose_engine()
        if self.asked.last is Last.OBJECT:
            for path in self.asked.sources:
                self._write(self._checked_object(path, engine), self._target(path))
            return
        text = with_depths(self._text(engine), self.asked.depths)
        self._tell(f"compiling for board '{self.board.name}'")
        made = compile_text(text, self.board, engine, tell_warnings if self._sources else ignore)
        target = self._target(self.asked.sources[-1])
        step = Step(EARLY, self.board.name, text.options, self.separate)
        self._write(early(made, step) if self.asked.last is Last.EARLY else made, target)
        if self.asked.report:
            self._report(text, made, target)

    @property
    def _sources(self) -> list[Path]:
        """The inputs that are OpenCL C."""
        return [path for path in self.asked.sources if path not in self.inputs]

    def _text(self, engine: Engine) -> Text:
        """Returns all inputs as preprocessed text."""
        for container, step in self.inputs.values():
            if step.kind == EARLY:
                return text_of(container, step)
        return preprocessed(self._unit(), self.board, engine)

    def _unit(self) -> Unit:
        """Returns all inputs, in their order."""
        named = [
            (
                path.name,
                unit_of(*self.inputs[path], str(path)) if path in self.inputs else read_unit([path], self.options),
            )
            for path in self.asked.sources
        ]
        return with_libraries(joined(named), self.options) if not self._sources else joined(named)

    @property
    def options(self) -> Options:
        macro = re.sub(r"\W", "_", self.board.name)
        compiler = (*self.asked.compiler, f"-DAOCL_BOARD_{macro}=1")
        return Options(compiler, tuple(self.asked.noted), self.asked.emulator, tuple(self.asked.libraries))

    def _checked_object(self, path: Path, engine: Engine) -> Container:
        if path.suffix == SPECIFICATION:
            return libraries.packaged(path)
        unit = embedded(read_unit([path], self.options), self.board, engine)
        check_text(preprocessed(unit, self.board, engine), self.board, engine, tell_warnings)
        return object_of(unit, self.board.name, self.separate)

    def _target(self, source: Path) -> Path:
        """Returns -o, which needs no ending, or else the source's name in the working folder."""
        output = self.asked.output
        if output is None:
            return Path(source.name).with_suffix(self.asked.last.value)
        return output if output.suffix else output.with_name(output.name + self.asked.last.value)

    def _write(self, made: Container, target: Path) -> None:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(target)) from None
        target.write_bytes(made.encode())
        self._tell(f"{target} written, {in_words(target.stat().st_size)}")

    def _report(self, text: Text, made: Container, target: Path) -> None:
        click.echo(describe_container(made), nl=False)
        page = (self.asked.report_folder or target.with_suffix("")) / "reports" / "report.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        system = parse(made.text(sections.AUTODISCOVERY))
        page.write_text(as_page(text.source, text.options.text(), system, target.name), encoding="utf-8")
        click.echo(f"aoc: {page} has interfaces, channels, memories and loops", err=True)

    def _tell(self, words: str) -> None:
        if self.asked.verbose:
            click.echo(f"aoc: {words}")


def with_depths(text: Text, depths: str) -> Text:
    """Returns the text with a line for the depth of channels; "" adds none."""
    return replace(text, source=f"{depth_pragma(depths)}{text.source}") if depths else text


def tell_warnings(words: str) -> None:
    """Prints the compiler's warnings for a program that it accepted."""
    if words:
        click.echo(words, err=True)


def _earlier(path: Path) -> tuple[Container, Step]:
    """Returns the result of an earlier step; raises AocxError."""
    container = Container.read_named(path)
    return container, Step.of(container, str(path))


def _check_output(asked: CommandLine) -> None:
    """Raises UsageError if -o has no name, or is a source."""
    output = asked.output
    if output is None:
        return
    if not output.name:
        raise UsageError("-o needs the name of a file")
    if any(is_same_file(output, source) for source in asked.sources):
        raise UsageError(f"-o {output} is a file that is compiled: name another one")


def _check_inputs(asked: CommandLine, inputs: dict[Path, tuple[Container, Step]]) -> None:
    for path, (_, step) in inputs.items():
        if step.kind == EARLY and (len(asked.sources) > 1 or asked.last is not Last.IMAGE):
            raise UsageError(f"{path} is a whole program, which can only become one .aocx")
        if step.kind == OBJECT and asked.last is Last.OBJECT:
            raise UsageError(f"{path} is already an object: -c makes objects of sources")


def _memories(asked: CommandLine, board: BoardDescription, separate: tuple[str, ...]) -> list[str]:
    """Returns the memories of -no-interleaving by the board's names; raises UsageError for one that it does not have.

    A board that stands in for another gets a note instead, because its memories may have other names.
    """
    known = [memory.name for memory in board.memories]
    named = [known[0] if name == "default" and name not in known else name for name in separate]
    unknown = [name for name in named if name not in (*known, "all")]
    if unknown:
        words = f"-no-interleaving={unknown[0]}: board '{board.name}' has {', '.join(known)}"
        if asked.board in ("", board.name) or "/" in asked.board:
            raise UsageError(words)
        click.echo(f"aoc: note: {words}", err=True)
    return named


def _board_for(asked: CommandLine, package: BoardPackage | None, steps: list[Step]) -> BoardDescription:
    """Returns the board that was named, in this or an earlier step; raises BoardSpecError or UsageError.

    A board that is not installed is replaced by that of FPGART_BOARD, if it is set, so that Makefiles for others'
    boards work unchanged; and for the emulator by the default board.
    """
    otherwise = steps[0].board if steps else default_board(package)
    try:
        board = describe_board(asked.board or otherwise, package)
    except BoardSpecError:
        if not (asked.emulator or config.BOARD.is_set) or not asked.board or "/" in asked.board:
            raise
        board = describe_board(otherwise, package)
        click.echo(f"aoc: note: board '{asked.board}' is not available; '{board.name}' replaces it", err=True)
    for step in steps:
        if step.board != board.name:
            raise UsageError(f"the inputs are compiled for board '{step.board}', not for '{board.name}'")
    return board


def describe_container(container: Container) -> str:
    """Returns the sections, and the autodiscovery as a table."""
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


def _kernel(kernel: DescribedKernel) -> list[str]:
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
    """Show or extract the contents of .aocx and .aocr files, also of those for real boards."""


FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))


@aocx.command()
@FILE
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
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
@click.option("--board", default="", help="Board; default: the one that the file names.")
def check_file(file: Path, board: str) -> None:
    """Check whether a board would load a file; exit status 1 if not."""
    container = Container.read(file)
    name = board or container.text(sections.BOARD)
    fitting = f"board '{name}'"
    if name == sections.EMULATOR_BOARD:
        name, fitting = shipped()[0], "every board"
    if not board and name not in shipped():
        raise AocxError(f"it is for board '{name}', which is not included in fpgart: pass --board")
    system = check(container, describe(name))
    click.echo(f"{file}: fits {fitting}, {times(len(system.kernels), 'kernel')}")
