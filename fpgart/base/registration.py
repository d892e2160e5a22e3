# SPDX-License-Identifier: Apache-2.0
"""Registers the driver with the system's OpenCL loaders."""

from __future__ import annotations

import os
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path

from fpgart.base.user_error import UserError

PACKAGE = Path(__file__).resolve().parent.parent
LIBRARY = PACKAGE / "libfpgart.so"
MMD_LIBRARY = PACKAGE / "libfpgart_mmd.so"
SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")


class RegistrationError(UserError):
    """A file cannot be written; the message says why."""


def user_folder() -> Path:
    """Returns the user's own folder for an .icd file."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "fpgart" / "vendors"


def _write(path: Path, library: Path = LIBRARY) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{library}\n")


def variables_for_only(library: Path, folder: Path) -> dict[str, str]:
    """Returns the variables by which loaders find one driver and no other; a file in the folder names it."""
    _write(folder / "only.icd", library)
    return {"OCL_ICD_VENDORS": f"{folder}{os.sep}", "OCL_ICD_FILENAMES": str(library)}


def vendor_folder() -> Path:
    """Returns a folder with one .icd file that names this installation's library by its full path."""
    note_interpreter()
    return _folder_with("fpgart.icd", LIBRARY)


def note_interpreter() -> None:
    """Writes interpreter.cfg, which names the Python of this installation for hosts in other languages.

    It is written only if the installation's path does not tell. icd/interpreter/place.h has the form of the file. If it
    cannot be written, hosts search for a libpython themselves.
    """
    import _cffi_backend  # rarely needed

    series = f"{sys.version_info.major}.{sys.version_info.minor}"
    told = PACKAGE.parent == Path(sysconfig.get_paths()["platlib"])
    if told or not (PACKAGE / f"libfpgart.{series}.so").exists():
        return
    home, packages = Path(os.path.realpath(sys.executable)).parent, Path(_cffi_backend.__file__).parent
    text = f"home = {home}\nversion = {series}\npackages = {packages}\n"
    file = PACKAGE / "interpreter.cfg"
    if not file.exists() or file.read_text() != text:
        with suppress(OSError):
            file.write_text(text)


def board_folder() -> Path:
    """Returns a folder with one .fcd file, which names libfpgart_mmd.so for the original runtime."""
    return _folder_with("fpgart.fcd", MMD_LIBRARY)


def _folder_with(name: str, library: Path) -> Path:
    """Returns the package's own folder if the file in it can be updated, else one of the user's."""
    if not library.exists():
        raise RegistrationError(f"{library} is missing: build the driver (pip install ., or make build)")
    for folder in (PACKAGE, user_folder()):
        file = folder / name
        if file.exists() and file.read_text().strip() == str(library):
            return folder
        try:
            _write(file, library)
        except OSError:
            continue
        return folder
    raise RegistrationError(f"neither {PACKAGE} nor {user_folder()} is writable")


def _target(system: bool) -> Path:
    return (SYSTEM_VENDORS if system else user_folder()) / "fpgart.icd"


def register(system: bool) -> str:
    """Writes fpgart.icd into the system's or the user's folder. Returns a sentence about it."""
    target = _target(system)
    vendor_folder()
    try:
        _write(target)
    except OSError as error:
        raise RegistrationError(
            f"{target} cannot be written ({error.strerror}); without --system, the registration is for you alone"
        ) from None
    if system:
        return f"registered in {target}, where every loader on this machine looks"
    return f"registered in {target}; loaders look there if OCL_ICD_VENDORS={target.parent} is set"


def stale() -> list[str]:
    """Returns a sentence for each registration whose library does not exist; loaders ignore it."""
    found = []
    for option, system in (("", False), (" --system", True)):
        try:
            named = _target(system).read_text().strip()
        except OSError:
            continue
        if not Path(named).exists():
            found.append(f"{_target(system)} names {named}, which is gone: fpgart icd --unregister{option}")
    return found


def unregister(system: bool) -> str:
    """Removes fpgart.icd. Returns a sentence about it."""
    target = _target(system)
    try:
        target.unlink()
    except FileNotFoundError:
        return f"there is no {target}"
    except OSError as error:
        raise RegistrationError(f"{target} cannot be removed: {error.strerror}") from None
    return f"removed {target}"
