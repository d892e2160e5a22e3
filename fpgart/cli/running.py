# SPDX-License-Identifier: Apache-2.0
"""Runs a program with this driver as its only platform."""

from __future__ import annotations

import glob
import os
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from fpgart.base import config
from fpgart.base.named_tuples import NamedTuple
from fpgart.base.output_file import is_same_file
from fpgart.base.registration import PACKAGE, vendor_folder
from fpgart.base.user_error import UserError
from fpgart.sdk.folder import sdk_variables

if TYPE_CHECKING:
    from fpgart.watch.report.export import Remark

ONLY = PACKAGE / "libfpgart-only.so"
YIELD = PACKAGE / "libfpgart-yield.so"
FOUND = 3
"""Exit status of a program with findings."""
NOT_USED = 4
"""Exit status of a run that should have used a board and did not."""
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def place_in_topology() -> dict[str, str]:
    """Returns the variables by which the program gets its boards among those of FPGART_TOPOLOGY; none without one.

    Process and job are decided here: child processes of the program have the same place. Raises TopologyError.
    """
    if not config.TOPOLOGY.value:
        return {}
    from fpgart.board.catalogue import chosen_names
    from fpgart.cluster import launcher, topology
    from fpgart.cluster.wiring import own_boards

    place = launcher.place()
    named = chosen_names()
    found = topology.read(config.TOPOLOGY.value, max(len(named), place.size))
    own = {"FPGART_BOARD": ",".join(own_boards(named, found, place))}
    return own | ({"FPGART_JOB": place.job} if place.size > 1 else {})


def boards_of_service() -> dict[str, str]:
    """Returns the variable by which the program gets all boards of FPGART_SERVED, unless FPGART_BOARD is set.

    Raises ServiceError.
    """
    if not config.SERVED.value or config.BOARD.is_set:
        return {}
    from fpgart.serving.connection import Connection

    service = Connection(config.SERVED.value)
    service.close()
    return {config.BOARD.name: ",".join(board.name for board in service.boards)}


class RunError(UserError):
    """Raised if the program cannot be started; the sentence says why."""


def for_loaders() -> dict[str, str]:
    """Returns the variables by which loaders find this driver, before all others."""
    return {"OCL_ICD_VENDORS": str(vendor_folder()) + os.sep, "OCL_ICD_FILENAMES": "", "OCL_ICD_PLATFORM_SORT": "none"}


def environment(extra: dict[str, str]) -> dict[str, str]:
    """Returns the environment in which every loader finds this driver and no other.

    Relative paths of options become absolute, because many hosts change their folder first. Loaders read
    OCL_ICD_VENDORS; libfpgart-only.so hides the folders that a loader bundled with a wheel searches in addition.
    libfpgart-yield.so is for hosts written in Python (icd/preload/yield.c).
    """
    of_sdk = sdk_variables(extra.get("FPGART_BOARD", ""))
    given = {**os.environ, **of_sdk, **extra, **for_loaders(), config.RUN: os.urandom(8).hex()}
    changed = config.with_absolute_paths(given)
    preloaded = [str(library) for library in (ONLY, YIELD) if library.exists()]
    if preloaded:
        earlier = changed.get("LD_PRELOAD", "").split(":")
        changed["LD_PRELOAD"] = ":".join(dict.fromkeys([*preloaded, *filter(None, earlier)]))
        changed["FPGART_ONLY"] = str(vendor_folder())
    return changed


def found(program: str, variables: dict[str, str]) -> str:
    """Returns the program's path, by the PATH that it will have; raises RunError if no such file is executable."""
    path = shutil.which(program, path=variables.get("PATH"))
    if path is not None:
        return path
    if os.path.isdir(program):
        raise RunError(f"{program}: this is a folder, not a program")
    if "/" in program and os.path.exists(program):
        raise RunError(f"{program}: this file is not executable: chmod +x {program}")
    raise RunError(f"{program}: no such program")


def replace_process(program: tuple[str, ...], extra: dict[str, str]) -> None:
    """Replaces this process by `program`; raises RunError if it cannot be started."""
    variables = environment(extra)
    path = found(program[0], variables)
    try:
        os.execve(path, list(program), variables)
    except OSError as error:
        raise RunError(f"{program[0]}: {error.strerror}") from None


class Judged(NamedTuple):
    """The criteria of a run: `use` of a board, `findings`, and the `trace` that it writes.

    `sarif` is the file that gets the findings; `github`: they are printed as annotations.
    """

    use: bool
    findings: bool
    trace: str = ""
    sarif: str = ""
    github: bool = False


def run_and_judge(program: tuple[str, ...], extra: dict[str, str], judged: Judged) -> int:
    """Runs `program`; returns its exit status, FOUND for findings, or NOT_USED if it succeeded and ran no kernel.

    Its child processes count, too. If a signal ends the program, it also ends this process, unless there are findings.
    Raises RunError if the program cannot be started.
    """
    import tempfile

    if judged.sarif:
        if judged.trace and is_same_file(judged.sarif, judged.trace):
            raise RunError(f"{judged.sarif} cannot have the trace and the findings: name two files")
        write_sarif([], judged.sarif)  # now, because the run may be long
    with tempfile.TemporaryDirectory(prefix="fpgart-run-") as folder:
        use = Path(folder) / "used"
        findings = Path(os.environ.get("FPGART_FINDINGS") or Path(folder) / "findings").absolute()
        before = length(findings)
        asked = {"FPGART_USE_FILE": str(use)} if judged.use else {}
        if judged.findings or judged.sarif or judged.github:
            asked["FPGART_FINDINGS"] = str(findings)
        traces = states(judged.trace)
        status = run_and_wait(program, environment({**extra, **asked}))
        used = length(use) > 0
        found_something = length(findings) > before
        if judged.sarif or judged.github:
            tell_findings(findings, before, judged)
    if judged.trace and states(judged.trace) == traces:
        name = program[0]
        print(f"fpgart: {name} made no OpenCL call, so there is no trace {judged.trace}", file=sys.stderr)
    if judged.findings and found_something:
        return FOUND
    if judged.use and not used:
        print(f"fpgart: {program[0]} ran no kernel on a board", file=sys.stderr)
    if status < 0:
        die_of(-status)
    return NOT_USED if judged.use and not status and not used else status


def tell_findings(findings: Path, before: int, judged: Judged) -> None:
    """Writes the findings behind the first bytes of a file, in the wanted forms. Raises RunError."""
    from fpgart.watch.report import export

    data = findings.read_bytes()[before:] if findings.exists() else b""
    remarks = export.of_findings(data.decode(errors="replace").splitlines())
    if judged.github:
        print(export.as_github(remarks), end="", flush=True)
    if judged.sarif:
        write_sarif(remarks, judged.sarif)


def write_sarif(remarks: list[Remark], file: str) -> None:
    """Writes a file; raises RunError if it cannot."""
    from fpgart.watch.report import export

    try:
        Path(file).write_text(export.as_sarif(remarks))
    except OSError as error:
        raise RunError(f"{file}: {error.strerror}") from None


def states(trace: str) -> set[tuple[str, int, int]]:
    """Returns the files that a trace of that name may be in, with facts that change when one is written."""
    if not trace:
        return set()
    base, ending = os.path.splitext(trace)
    named = glob.escape(base).replace("%p", "*"), glob.escape(ending).replace("%p", "*")
    names = {each for middle in ("", ".*") for each in glob.glob(middle.join(named))}
    facts = [(name, os.stat(name)) for name in names if os.path.exists(name)]
    return {(name, found.st_size, found.st_mtime_ns) for name, found in facts}


def length(file: Path) -> int:
    """Returns the bytes of a file; 0 if there is none."""
    return file.stat().st_size if file.exists() else 0


def die_of(number: int) -> None:
    """Ends this process by the signal that ended the program, without a second core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def run_and_wait(program: tuple[str, ...], variables: dict[str, str]) -> int:
    """Runs `program` and forwards signals to it; returns its exit status, negative for a signal."""
    path = found(program[0], variables)
    children: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:  # a terminal sends it to both
            return
        if children:
            children[0].send_signal(number)
        else:  # it may run already, before its number is known
            early.append(number)

    for number in FORWARDED:
        signal.signal(number, forward)
    try:
        children.append(subprocess.Popen(list(program), executable=path, env=variables))
    except OSError as error:
        raise RunError(f"{program[0]}: {error.strerror}") from None
    for missed in early:
        children[0].send_signal(missed)
    return children[0].wait()


def run_captured(command: list[str], variables: dict[str, str], seconds: float) -> tuple[int | None, bytes, bytes]:
    """Returns exit status and output of a program; at the time limit it is killed with its child processes.

    The status is None then. Raises RunError if the program cannot be started.
    """
    try:
        process = subprocess.Popen(
            command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        raise RunError(f"{command[0]}: {error.strerror}") from None
    with process:
        try:
            output, errors = process.communicate(timeout=seconds)
            return process.returncode, output, errors
        except subprocess.TimeoutExpired:
            _kill(process)
            return None, *process.communicate()
        except BaseException:
            _kill(process)
            raise


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
