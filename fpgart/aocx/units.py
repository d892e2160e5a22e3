# SPDX-License-Identifier: Apache-2.0
"""Compilation units: files of OpenCL C with their headers, and the models of libraries behind them.

Each file is preprocessed as if it were alone, and all of them into one text, which has the declarations of a shared
header once. So objects, which contain their headers, link to the same text as their sources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fpgart.aocx.compiler import CompileError, Options, compile_source, ignore
from fpgart.aocx.container import Container
from fpgart.aocx.libraries import find_library, models_of
from fpgart.base import opencl as cl
from fpgart.base.input_file import LARGEST_SOURCE, read_text
from fpgart.board.description import BoardDescription
from fpgart.engine.interface import BuildFailed, Engine
from fpgart.kernels.compiler_options import CompilerOptions
from fpgart.kernels.dialect import APINT_HEADER, apint_header, predefined_macros
from fpgart.kernels.preprocessing.files import Embedded, Includes, Input, Inside
from fpgart.kernels.preprocessing.preprocessor import Preprocessed, preprocess_all
from fpgart.kernels.signs import PreprocessorError

MESSAGE = re.compile(
    r"(?:(?P<kind>error|warning|note): )?(?P<file>[^:\s]+):(?P<line>\d+):(?P<column>\d+)(?: <Spelling=[^>]*>)?: "
    r"(?:(?P<kind2>(?:fatal )?error|warning|note): )?(?P<words>.*)"
)
NAMED = re.compile(r"(?:identifier|function|member named|variable|parameter|attribute) '([A-Za-z_]\w*)'")


@dataclass(frozen=True, slots=True)
class Unit:
    """The files, each with the macros of its command line, and the options that they have in common."""

    sources: tuple[Input, ...]
    models: tuple[Input, ...]
    options: Options

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (*self.sources, *self.models)


@dataclass(frozen=True, slots=True)
class Text:
    """A preprocessed unit: its text, the options that it still needs, and the files that it came from."""

    source: str
    options: Options
    files: dict[str, str] = field(default_factory=dict, repr=False)


def given_headers() -> dict[str, str]:
    return {APINT_HEADER: apint_header()}


def read_unit(paths: Sequence[Path], options: Options) -> Unit:
    """Reads the files, and the models of the libraries that -l names; raises AocxError, or OSError."""
    read = CompilerOptions.of(options.compiler)
    headers = Includes(read.folders, given_headers())
    sources = tuple(
        Input(path.name, read_text(path, LARGEST_SOURCE), headers, read.defines, path.resolve()) for path in paths
    )
    beside = tuple(dict.fromkeys(path.resolve().parent for path in paths))
    return Unit(sources, tuple(_models(options, read, beside)), replace(options, compiler=read.others))


def with_libraries(unit: Unit, options: Options) -> Unit:
    """Returns the unit with the models of the libraries that the options name; raises AocxError, or OSError."""
    models = without_copies((*unit.models, *_models(options, CompilerOptions.of(options.compiler), ())))
    libraries = dict.fromkeys((*unit.options.libraries, *options.libraries))
    return replace(unit, models=models, options=replace(unit.options, libraries=tuple(libraries)))


def _models(options: Options, read: CompilerOptions, beside: tuple[Path, ...]) -> Iterable[Input]:
    """Yields the models of libraries; their headers may also be beside the sources."""
    folders = [Path(option[2:]) for option in options.libraries if option.startswith("-L")]
    names = [option[2:] for option in options.libraries if option.startswith("-l")]
    for library in (find_library(name, folders) for name in names):
        headers = Includes((*read.folders, *beside), given_headers())
        for model in models_of(library):
            yield Input(model.name, model.text, headers, read.defines, library.resolve())


def without_copies(models: Iterable[Input]) -> tuple[Input, ...]:
    """Returns each model once, whatever number of files use its library."""
    return tuple({(model.name, model.text): model for model in models}.values())


def embedded(unit: Unit, board: BoardDescription, engine: Engine) -> Unit:
    """Returns the unit with all headers in it, so that it needs no file; raises as preprocessed() does."""
    macros = _macros_of(engine, unit.options)
    return replace(
        unit,
        sources=tuple(_embedded(each, board, macros) for each in unit.sources),
        models=tuple(_embedded(each, board, macros) for each in unit.models),
    )


def _embedded(given: Input, board: BoardDescription, macros: dict[str, str]) -> Input:
    made = _preprocess([given], board, macros)
    headers = {name: text for name, text in made.files.items() if name != given.name}
    among = Embedded(headers, made.found, given_headers())
    return replace(given, headers=among, place=Inside(among, given.name))


def preprocessed(unit: Unit, board: BoardDescription, engine: Engine) -> Text:
    """Returns the unit as one text; raises CompileError, with the line that it is about, or OSError."""
    made = _preprocess(unit.inputs, board, _macros_of(engine, unit.options))
    defines = dict.fromkeys(f"-D{macro}" for each in unit.inputs for macro in each.defines)
    return Text(made.text, replace(unit.options, noted=(*defines, *unit.options.noted)), made.files)


def _preprocess(inputs: Iterable[Input], board: BoardDescription, macros: dict[str, str]) -> Preprocessed:
    """Preprocesses the inputs with the macros of the board's compiler."""
    files: dict[str, str] = {}
    try:
        return preprocess_all([replace(each, defines=(*board.macros, *each.defines)) for each in inputs], macros, files)
    except PreprocessorError as error:
        raise CompileError(with_carets(str(error), files)) from None


def _macros_of(engine: Engine, options: Options) -> dict[str, str]:
    version, extensions = (
        engine.device_info(query).rstrip(b"\0").decode(errors="replace")
        for query in (cl.CL_DEVICE_VERSION, cl.CL_DEVICE_EXTENSIONS)
    )
    return predefined_macros(version, extensions, options.text())


def compile_text(
    text: Text, board: BoardDescription, engine: Engine, tell: Callable[[str], None] = ignore
) -> Container:
    """Does as compile_source(); errors and warnings have source lines. Raises CompileError; `tell` gets warnings."""
    try:
        return compile_source(
            text.source, board, text.options, engine, lambda log: tell(with_carets(log, text.files).strip())
        )
    except CompileError as error:
        raise CompileError(with_carets(str(error), text.files)) from None


def check_text(text: Text, board: BoardDescription, engine: Engine, tell: Callable[[str], None] = ignore) -> None:
    """Compiles without linking, for errors and warnings; raises CompileError as compile_text() does."""
    try:
        log = engine.from_source(text.source).compile(board.build_options(text.options.text()), {})
    except BuildFailed as failed:
        raise CompileError(with_carets(failed.log, text.files)) from None
    tell(with_carets(log, text.files).strip())


def with_carets(log: str, files: dict[str, str]) -> str:
    """Returns a log with each message as `file:line:column: error: ...`, the source line and a caret below it."""
    lines = []
    for line in log.splitlines():
        found = MESSAGE.fullmatch(line)
        if found is None:
            lines.append(line)
            continue
        name, row, column = found["file"], int(found["line"]), int(found["column"])
        if name not in files:
            name = Path(name).name
        kind = found["kind"] or found["kind2"]
        lines.append(f"{name}:{row}:{column}: {kind}: {found['words']}")
        source = files.get(name, "").splitlines()
        if row <= len(source):
            shown = source[row - 1].replace("\t", " ")
            lines += [f"    {shown}", f"    {' ' * (_column_in(shown, column, found['words']) - 1)}^"]
    return "\n".join(lines)


def _column_in(line: str, column: int, words: str) -> int:
    """Returns the column in the source line; the compiler's counts the results of macros."""
    for name in NAMED.findall(words):
        if not line.startswith(name, column - 1):
            found = re.search(rf"\b{name}\b", line)
            if found is not None:
                return found.start() + 1
    return column if column <= len(line) else len(line) - len(line.lstrip()) + 1
