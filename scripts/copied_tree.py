# SPDX-License-Identifier: Apache-2.0
"""A copy of the tree, with what was built from it, in which files are changed while all processes of its tests run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILED = (".c", ".h")
"""The endings of what is compiled; icd/entry/*.py makes more of it."""


@dataclass(frozen=True)
class CopiedTree:
    """A copy of the tree. It is built in a folder of its own beside it, so that a compiler's cache serves it."""

    folder: Path

    def make(self) -> None:
        """Copies the files that git has, and what was built from them."""
        shutil.rmtree(self.folder, ignore_errors=True)
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        self.copy({*(ROOT / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name), *_package()})

    def copy(self, files: Iterable[Path]) -> None:
        for path in files:
            target = self.folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file():
                target.unlink(missing_ok=True)  # processes may have it mapped
                shutil.copy2(path, target)

    def build(self) -> None:
        """Builds the C parts; raises CalledProcessError where the compiler refuses one."""
        work = self.folder.with_name(f"{self.folder.name}.work")
        shutil.rmtree(work, ignore_errors=True)
        command = [sys.executable, "build_icd.py", "--work", work]
        subprocess.run(command, cwd=self.folder, stdout=subprocess.DEVNULL, check=True)

    @contextmanager
    def changed(self, file: str, text: str) -> Iterator[None]:
        """Gives a file another text while the context lasts; builds again if the build depends on it."""
        target = self.folder / file
        is_compiled = target.suffix in COMPILED or file.startswith("icd/")
        target.write_text(text)
        changed = time.time_ns() // 1000 % 2**31  # a time that no bytecode was made for: those of files have seconds
        os.utime(target, (changed, changed))
        try:
            if is_compiled:
                self.build()
            yield
        finally:
            self.copy([ROOT / file, *(_package() if is_compiled else ())])

    def environment(self) -> dict[str, str]:
        """Returns the variables with which processes import the copy's modules."""
        return {**os.environ, "PYTHONPATH": str(self.folder)}


def _package() -> Iterator[Path]:
    """Yields the files of the package, with those that were built."""
    return (path for path in (ROOT / "fpgart").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
