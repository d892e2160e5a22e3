# SPDX-License-Identifier: Apache-2.0
"""`fpgart clean`: removes the files of runs outside of the package, before it is uninstalled."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fpgart.base import registration
from fpgart.base.output_file import is_private
from fpgart.engine.compiling.cache import cache_folder, temporary_folders
from fpgart.engine.driver import DriverError
from fpgart.sdk import folder as sdk

BESIDE = ("fpgart.icd", "fpgart.fcd", "interpreter.cfg")
"""Files that `fpgart icd`, `fpgart fcd` and `fpgart run` write beside the library; uninstalling leaves them there."""


def left_behind(*, system: bool, kernels: bool) -> list[Path]:
    """Returns the files and folders that exist, each once.

    `system`: also the registration for all users; `kernels`: also the kernels that PoCL has compiled in the user's
    cache, for any program.
    """
    found = [*_registrations(system=system), *_sdk_folders(), *_private_caches(), *_folders_of_runs()]
    if kernels:
        with suppress(DriverError):
            found.append(Path(cache_folder().folder))
    found += [registration.PACKAGE / name for name in BESIDE]
    return [path for path in dict.fromkeys(found) if path.is_symlink() or path.exists()]


def remove(path: Path) -> None:
    """Removes a file, or a folder with its contents; and the empty folders above it that fpgart made."""
    if path.is_dir() and not path.is_symlink():
        try:
            shutil.rmtree(path)
        except OSError as error:  # it names a file without its folder
            raise OSError(error.errno, error.strerror, str(path)) from None
    else:
        path.unlink()
    own = registration.user_folder().parent
    for above in path.parents:
        if not above.is_relative_to(own) or any(above.iterdir()):
            return
        above.rmdir()


def _registrations(*, system: bool) -> Iterator[Path]:
    folders = [registration.user_folder(), *([registration.SYSTEM_VENDORS] if system else [])]
    yield from (folder / name for folder in folders for name in ("fpgart.icd", "fpgart.fcd"))


def _sdk_folders() -> Iterator[Path]:
    """Yields the folders of this installation, and of removed ones."""
    with suppress(sdk.SdkError):
        own = sdk.default_root()
        yield own.parents[1]
        for stamp in own.parents[2].glob(f"*/*/hld/{sdk.STAMP}"):
            with suppress(OSError, ValueError, KeyError):
                if not Path(json.loads(stamp.read_text())["package"]).exists():
                    yield stamp.parents[2]


def _private_caches() -> Iterator[Path]:
    """Yields the caches of PoCL for users whose home cannot be written."""
    for base in temporary_folders():
        folder = Path(base) / f"fpgart-{os.geteuid()}"
        if _is_ours(folder):
            yield folder


def _folders_of_runs() -> Iterator[Path]:
    """Yields folders of single runs that were killed: no process of this user has them in its environment."""
    folders = [path for path in Path(tempfile.gettempdir()).glob("fpgart-run-*") if _is_ours(path)]
    used = b"".join(_environments()) if folders else b""
    yield from (folder for folder in folders if os.fsencode(folder) not in used)


def _environments() -> Iterator[bytes]:
    for process in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # another user's, or it has ended
            yield process.read_bytes()


def _is_ours(folder: Path) -> bool:
    try:
        return is_private(str(folder))
    except OSError:
        return False
