# SPDX-License-Identifier: Apache-2.0
"""Running a program with this driver as its only platform."""

from __future__ import annotations

import os
import shutil

from fpgart.cli.registration import PACKAGE, vendor_folder

ONLY = PACKAGE / "libfpgart-only.so"


class RunError(Exception):
    """The program cannot be started; the sentence says why."""


def environment(extra: dict[str, str]) -> dict[str, str]:
    """The environment in which every loader finds this driver and no other.

    OCL_ICD_VENDORS speaks to the loaders; libfpgart-only.so hides the folders that a loader bundled
    with a wheel searches besides.
    """
    folder = str(vendor_folder())
    changed = dict(os.environ)
    changed.update(extra)
    changed["OCL_ICD_VENDORS"] = folder + os.sep
    changed["OCL_ICD_FILENAMES"] = ""
    if ONLY.exists():
        earlier = changed.get("LD_PRELOAD")
        changed["LD_PRELOAD"] = f"{ONLY}:{earlier}" if earlier else str(ONLY)
        changed["FPGART_ONLY"] = folder
    return changed


def replace_process(program: tuple[str, ...], extra: dict[str, str]) -> None:
    """Become `program`; raises RunError when it cannot be started."""
    path = shutil.which(program[0])
    if path is None:
        raise RunError(f"{program[0]}: no such program")
    try:
        os.execve(path, list(program), environment(extra))
    except OSError as error:
        raise RunError(f"{program[0]}: {error.strerror}") from None
