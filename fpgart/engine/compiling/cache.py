# SPDX-License-Identifier: Apache-2.0
"""The folder in which PoCL keeps compiled kernels. PoCL offers no device if it cannot write there."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator

from fpgart.base import config
from fpgart.base.named_tuples import NamedTuple
from fpgart.base.output_file import is_private
from fpgart.engine.driver import DriverError

VARIABLE = "POCL_CACHE_DIR"
BELOW = os.path.join("pocl", "kcache")
TEMPORARY = ("TMPDIR", "TEMP", "TMP")


class Cache(NamedTuple):
    """The folder that PoCL will use; `variables` sets it, and `words` is a sentence if it is not the usual folder."""

    folder: str
    variables: dict[str, str]
    words: str = ""


def cache_folder() -> Cache:
    """Returns the user's cache folder if it can be written, else a private one among the temporary files.

    Without a home directory PoCL would share a folder with all users of the machine. Compiled kernels are code, so a
    process with other rights than its user's asks the system for the home directory, not the environment. Raises
    DriverError if no folder can be written.
    """
    if config.Option.distrusted:
        return effective_users_cache()
    asked = os.environ.get(VARIABLE, "")
    if asked:
        fault = fault_of(asked)
        if fault:
            raise DriverError(f"{VARIABLE}={asked} cannot be written: {fault}")
        return Cache(asked, {})
    base = users_cache()
    fault = fault_of(os.path.join(base, BELOW)) if base else "neither XDG_CACHE_HOME nor HOME is set"
    if not fault:
        return Cache(os.path.join(base, BELOW), {})
    words = f"{base} cannot be written: {fault}" if base else fault
    folder = private_folder(words)
    return Cache(folder, {VARIABLE: folder}, words)


def effective_users_cache() -> Cache:
    """Returns a folder in the effective user's home directory, else a private one among the temporary files."""
    try:
        home = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        home = ""
    folder = os.path.join(home, ".cache", BELOW)
    fault = fault_of(folder) if home else "the user has no home directory"
    if not fault and not is_own(folder):
        fault = "other users can write to it"
    if fault:
        folder = private_folder(f"{folder}: {fault}")
    return Cache(folder, {VARIABLE: folder}, "this process runs with rights other than those of its user")


def users_cache() -> str:
    """Returns the user's cache folder as PoCL finds it; "" if the environment names none."""
    base, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    return base or (os.path.join(home, ".cache") if home else "")


def private_folder(words: str) -> str:
    """Returns a folder to which only this user can write. Raises DriverError with `words`, which say what was tried."""
    faults = [words]
    for base in temporary_folders():
        folder = os.path.join(base, f"fpgart-{os.geteuid()}")
        fault = fault_of(folder) or ("" if is_private(folder) else "it belongs to another user")
        if not fault:
            return folder
        faults.append(f"{folder}: {fault}")
    raise DriverError(f"there is no folder for compiled kernels: {'; '.join(faults)}")


def temporary_folders() -> Iterator[str]:
    """Yields the folders for temporary files: the environment's, if it is trusted, then the system's."""
    found = [os.environ.get(name, "") for name in TEMPORARY if not config.Option.distrusted]
    yield from dict.fromkeys([*filter(None, found), "/tmp", "/var/tmp"])


def is_own(folder: str) -> bool:
    """True if the folder is the user's, is no link, and nobody else can write to it."""
    facts = os.lstat(folder)
    return facts.st_uid == os.geteuid() and facts.st_mode & 0o170022 == 0o040000


def fault_of(folder: str) -> str:
    """Creates the folder if need be; returns why no file can be created in it, "" if one can.

    It has to try: permissions say nothing of file systems that are read-only.
    """
    probe = os.path.join(folder, f".fpgart-{os.urandom(8).hex()}")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        os.unlink(probe)
    except OSError as error:
        return error.strerror or str(error)
    return ""
