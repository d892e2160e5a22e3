# SPDX-License-Identifier: Apache-2.0
"""The options of clBuildProgram and clCompileProgram that concern the preprocessor (OpenCL 3.0, 5.8.6.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fpgart.base.named_tuples import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class CompilerOptions(NamedTuple):
    """Options of a build: macros, folders of headers, and the others unchanged."""

    defines: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    others: tuple[str, ...] = ()

    @classmethod
    def read(cls, options: str) -> CompilerOptions:
        if not options:
            return cls()
        import shlex

        try:
            return cls.of(shlex.split(options))
        except ValueError:  # a quote without its end, which the compiler reports
            return cls.of(options.split())

    @classmethod
    def of(cls, options: Iterable[str]) -> CompilerOptions:
        words = iter(options)
        found: dict[str, list[str]] = {"-D": [], "-I": [], "": []}
        for word in words:
            kind = word[:2] if word[:2] in ("-D", "-I") else ""
            found[kind].append((word[2:] or next(words, "")) if kind else word)
        folders: tuple[Path, ...] = ()
        if found["-I"]:
            from pathlib import Path

            folders = tuple(map(Path, found["-I"]))
        return cls(tuple(found["-D"]), folders, tuple(found[""]))

    @property
    def macros(self) -> dict[str, str]:
        """The bodies of the macros by their names, which end with the parameters."""
        return {name: body for name, _, body in (each.partition("=") for each in self.defines)}
