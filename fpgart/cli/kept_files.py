# SPDX-License-Identifier: Apache-2.0
"""The files that fpgart keeps and writes on this machine, and a check that nobody else can change them."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fpgart.base import config, option_paths, registration
from fpgart.base.output_file import runtime_folders
from fpgart.engine.compiling.cache import cache_folder
from fpgart.engine.driver import DriverError
from fpgart.sdk import folder as sdk
from fpgart.sdk.folder import SdkError

FOUND: dict[str, Callable[[], str | Path]] = {
    "compiled kernels": lambda: cache_folder().folder,
    "registration for loaders (`fpgart icd`)": registration.user_folder,
    "SDK folders (`fpgart run`)": sdk.default_root,
}


@dataclass(frozen=True)
class Place:
    """A file or folder, and its purpose. `holds_code`: its contents are executed."""

    purpose: str
    path: str
    holds_code: bool = False

    def fault(self) -> str:
        """Returns why others can change the contents; "" if they cannot, or if it does not exist."""
        try:
            facts = os.stat(self.path)
        except OSError:
            return ""
        if self.holds_code and facts.st_uid not in (0, os.geteuid()):
            return f"{self.path} ({self.purpose}) belongs to user {facts.st_uid}: its contents are executed"
        if facts.st_mode & stat.S_IWOTH and not (stat.S_ISCHR(facts.st_mode) or stat.S_ISFIFO(facts.st_mode)):
            mode = stat.S_IMODE(facts.st_mode)
            return f"{self.path} ({self.purpose}) is writable by everybody (mode {mode:04o}): chmod o-w it"
        return ""


def places() -> Iterator[Place]:
    """Yields all of them, existing or not, except those that have no name."""
    yield Place("the package and the driver", str(registration.PACKAGE), holds_code=True)
    for purpose, find in FOUND.items():
        with suppress(DriverError, SdkError, RuntimeError):  # such as no home directory, which other checks report
            yield Place(purpose, str(find()), holds_code=True)
    yield Place("questions of `fpgart top` (FPGART_LIVE)", runtime_folders()[0])
    yield from named_by_options()


def temporary() -> str:
    """Returns the pattern of the folders of single runs; each is private and is removed when its run ends."""
    return str(Path(tempfile.gettempdir()) / "fpgart-run-*")


def named_by_options() -> Iterator[Place]:
    written = (option_paths.Holds.FILE, option_paths.Holds.FILE_OR_STDERR, option_paths.Holds.FOLDER)
    for option in config.OPTIONS.values():
        if option.is_set and option.holds in written and option.text != option_paths.STDERR:
            yield Place(option.name, os.path.abspath(option.text))
