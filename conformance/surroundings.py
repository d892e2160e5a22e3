# SPDX-License-Identifier: Apache-2.0
"""Runs ordinary hosts in surroundings that are not, on the driver and on the bare engine, and prints a table.

    python conformance/surroundings.py                     # all that can be made on this machine
    python conformance/surroundings.py --only "seccomp.*"  # those whose names match

What others have to provide is looked for: allocators in --libraries and where the system keeps them, pypy3, java and
node in PATH (node needs the package koffi, Java is 22 or newer), valgrind, and other versions of libpython.
The exit status is 1 if a host crashes, hangs or computes wrong numbers on the driver, and does not on the bare engine.
"""

from __future__ import annotations

import argparse
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from compilation import compiled  # noqa: E402
from conftest import find_driver, seen_alone  # noqa: E402

HOSTS = FOLDER / "surroundings"
LOADER = "libOpenCL.so.1"
RUNS, REFUSED, IMPOSSIBLE = 0, 3, 4
FOLDERS = re.compile(r"(?:/[\w.+-]+)+/(?=[\w.+-])")
"""Of paths, which differ between machines."""
ADVICE = "an engine can be had as"
PATIENCE = 120
"""Seconds; ten times that under valgrind."""
SYSTEM_LIBRARIES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/lib")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A command, in which HOST stands for the C host and LIBRARY for the loader; "" of `missing`: it can be made.

    In variables, FOLDER stands for a folder of its own.
    """

    name: str
    command: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)
    patience: int = PATIENCE
    missing: str = ""


def host(name: str, when: str = "first", word: str = "") -> tuple[str, ...]:
    return ("HOST", name, when, word)


def as_nobody() -> tuple[str, ...]:
    """A command in front of others where root runs this, for whom some limits are none: a user without any process,
    who may read what root may."""
    if os.geteuid():
        return ()
    read = "+dac_override,+dac_read_search"
    user = ("--reuid=65534", "--regid=65534", "--clear-groups")
    return ("setpriv", *user, f"--inh-caps={read}", f"--ambient-caps={read}")


def mounted(script: str) -> tuple[str, ...]:
    """The host in a name space of its own, in which the shell script has changed what is mounted."""
    root = () if os.geteuid() == 0 else ("--map-root-user",)
    return ("unshare", *root, "--mount", "sh", "-c", f'{script} && exec "$0" "$@"', "HOST")


def surroundings(libraries: Path | None) -> Iterator[Surroundings]:
    yield Surroundings("none", host("nothing"))
    for when, words in {"first": "before the first call", "built": "after a build", "ran": "after a launch"}.items():
        yield Surroundings(f"standard input, output and error closed {words}", host("standard", when))
    for when, words in {"found": "after the queue is made", "built": "after a build", "ran": "after a launch"}.items():
        yield Surroundings(f"all other files closed {words}", host("files", when))
    for more in (0, 4, 16, 64):
        yield Surroundings(f"at most {more} files more (RLIMIT_NOFILE)", host("few-files", "first", str(more)))
        yield Surroundings(f"at most {more} files more, after a launch", host("few-files", "ran", str(more)))
    for size in (64, 256, 1024, 8192):
        yield Surroundings(f"{size} MiB of addresses (RLIMIT_AS)", host("memory", "first", str(size)))
    for count in (1, 4, 64):
        limited = (*as_nobody(), *host("threads", "first", str(count)))
        missing = "" if shutil.which(limited[0]) or limited[0] == "HOST" else f"{limited[0]} is not here"
        at_home = {"HOME": "FOLDER", "XDG_CACHE_HOME": "", "TMPDIR": "FOLDER"} if os.geteuid() == 0 else {}
        yield Surroundings(f"{count} threads of the user (RLIMIT_NPROC)", limited, at_home, missing=missing)
    for when, words in {"first": "from the beginning", "built": "after a build"}.items():
        yield Surroundings(f"no thread can be made {words}", host("seccomp", when, "threads"))
    for size in (64, 160, 256):
        limited = ("sh", "-c", f'ulimit -s {size} && exec "$0" "$@"', *host("nothing"))
        yield Surroundings(f"stacks of {size} KiB (RLIMIT_STACK)", limited)
        yield Surroundings(f"the host's thread has {size} KiB of stack", host("stack", "first", str(size)))
    yield Surroundings("no file may grow (RLIMIT_FSIZE 0)", host("no-writing"))
    yield from of_files()
    for calls in ("memfd", "mlock", "clone3", "affinity", "exec"):
        yield Surroundings(f"seccomp forbids {calls}", host("seccomp", "first", calls))
    yield Surroundings("seccomp forbids exec, after a launch", host("seccomp", "ran", "exec"))
    yield Surroundings("the environment changes all the time", host("environment"))
    yield Surroundings("the locale changes all the time", host("locale"))
    yield Surroundings("no environment after a build", host("no-environment", "built"))
    yield Surroundings("LC_ALL=tr_TR.UTF-8", host("nothing"), {"LC_ALL": "tr_TR.UTF-8"})
    yield Surroundings("LC_ALL that does not exist", host("nothing"), {"LC_ALL": "xx_YY.NOWHERE"})
    yield Surroundings("umask 0777", host("umask"))
    yield Surroundings("a daemon (two forks, no files, /)", host("daemon"))
    yield Surroundings("a daemon after a build", host("daemon", "built"))
    yield Surroundings("forked before the first call", host("fork"))
    for when, words in {"found": "after the queue is made", "ran": "after a launch"}.items():
        yield Surroundings(f"forked {words}, the child goes on", host("fork", when))
    yield from of_other_languages()
    yield from of_preloaded(libraries)


def of_files() -> Iterator[Surroundings]:
    has_unshare = shutil.which("unshare") is not None
    missing = "" if has_unshare else "unshare is not here"
    hidden = {"/proc": "/proc", "/dev/shm": "/dev/shm", "/sys": "/sys", "/tmp": "/tmp"}
    for folder in hidden:
        yield Surroundings(f"no {folder}", mounted(f"mount -t tmpfs -o ro,size=0 none {folder}"), missing=missing)
    read_only = "mount -o remount,bind,ro / && mount -t tmpfs -o ro none /tmp && mount -t tmpfs -o ro none /dev/shm"
    read_only += " && mount -t tmpfs -o ro none /var/tmp"
    yield Surroundings("everything is read-only", mounted(read_only), missing=missing)
    yield Surroundings("HOME does not exist", host("nothing"), {"HOME": "/dev/null/nowhere", "XDG_CACHE_HOME": ""})
    yield Surroundings("TMPDIR does not exist", host("nothing"), {"TMPDIR": "/dev/null/nowhere"})
    yield Surroundings("the working folder is removed", host("no-folder"))


def of_other_languages() -> Iterator[Surroundings]:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    for version, library in pythons().items():
        words = "the driver's own version" if version == here else "another version"
        yield Surroundings(f"a C host with Python {version} in it ({words})", host("python", "first", library))
        yield Surroundings(f"Python {version} begins after a launch", host("python", "ran", library))
    for name, command in {
        "a host in PyPy (ctypes)": ("pypy3", str(HOSTS / "host.py"), "LIBRARY"),
        "a host in Java (java.lang.foreign)": (
            "java", "--enable-native-access=ALL-UNNAMED", str(HOSTS / "Host.java"), "LIBRARY",
        ),
        "a host in JavaScript (node, koffi)": ("node", str(HOSTS / "host.js"), "LIBRARY"),
    }.items():  # fmt: skip
        yield Surroundings(name, command, missing=why_not(command[0]))
    preload = {"LD_PRELOAD": next(iter(pythons().values()), "")} if not why_not("pypy3") else {}
    preload = {"LD_PRELOAD": pythons()[here]} if here in pythons() else preload
    yield Surroundings(
        "a host in PyPy, libpython preloaded", ("pypy3", str(HOSTS / "host.py"), "LIBRARY"), preload,
        missing=why_not("pypy3"),
    )  # fmt: skip


def why_not(program: str) -> str:
    """Why a program cannot be used; "" if it can."""
    probes = {"node": ("node", "-e", "require('koffi')"), "java": ("java", "-version"), "pypy3": ("pypy3", "--version")}
    try:
        result = subprocess.run(probes[program], capture_output=True, text=True)
    except OSError:
        return f"{program} is not here"
    if program == "java" and int((re.findall(r'version "(\d+)', result.stderr) or ["0"])[0]) < 22:
        return "this Java is older than 22"
    return "" if result.returncode == 0 else f"{program} cannot run it"


def pythons() -> dict[str, str]:
    """By version, libraries of Python that are here."""
    patterns = [f"{folder}/libpython3.*.so.1*" for folder in SYSTEM_LIBRARIES]
    patterns.append(os.path.expanduser("~/.pyenv/versions/*/lib/libpython3.*.so.1*"))
    found: dict[str, str] = {}
    for path in sorted((path for pattern in patterns for path in glob.glob(pattern)), reverse=True):
        version = re.search(r"libpython(3\.\d+)\.so", path)
        if version and int(version[1].partition(".")[2]) >= 9:
            found[version[1]] = os.path.realpath(path)
    return dict(sorted(found.items(), key=lambda pair: int(pair[0].partition(".")[2])))


def of_preloaded(libraries: Path | None) -> Iterator[Surroundings]:
    folders = [str(libraries)] if libraries else []
    for name in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"):
        places = [f"{folder}/{name}" for folder in (*folders, *SYSTEM_LIBRARIES) if os.path.exists(f"{folder}/{name}")]
        yield Surroundings(
            f"LD_PRELOAD={name}", host("nothing"), {"LD_PRELOAD": places[0]} if places else {},
            missing="" if places else f"{name} is not here",
        )  # fmt: skip
    yield Surroundings(
        "MALLOC_PERTURB_ and MALLOC_CHECK_", host("nothing"), {"MALLOC_PERTURB_": "85", "MALLOC_CHECK_": "3"}
    )
    yield Surroundings(
        "valgrind", ("valgrind", "-q", "--error-exitcode=0", *host("nothing")),
        {"FPGART_BOARD": "a10_small"},  # all of a board's memory comes to be used there: 42 GB of the largest
        patience=10 * PATIENCE,
        missing="" if shutil.which("valgrind") else "valgrind is not here",
    )  # fmt: skip


def outcome(each: Surroundings, program: Path, environment: dict[str, str]) -> tuple[bool, str]:
    """Whether the host ran or was refused in words, and the words for the table."""
    if each.missing:
        return True, f"not tried: {each.missing}"
    command = [{"HOST": str(program), "LIBRARY": LOADER}.get(word, word) for word in each.command]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        log = Path(folder) / "log"
        Path(folder).chmod(0o777)
        here = {name: folder if value == "FOLDER" else value for name, value in each.variables.items()}
        variables = {**environment, "FPGART_LOG": str(log), **here}
        try:
            result = subprocess.run(
                command, env=variables, capture_output=True, text=True, errors="replace", timeout=each.patience
            )
        except subprocess.TimeoutExpired:
            return False, f"**hangs** ({each.patience} s)"
        told = result.stderr.splitlines() + (log.read_text(errors="replace").splitlines() if log.exists() else [])
    return in_words(result.returncode, told)


def last_words(told: list[str]) -> str:
    """What the driver said last that is a reason, not what announces one or advises; else the last line."""
    reasons = [
        line for line in told if line.startswith("fpgart") and not line.endswith("tried:") and ADVICE not in line
    ]
    return reasons[-1] if reasons else told[-1] if told else ""


def in_words(status: int, told: list[str]) -> tuple[bool, str]:
    if status == RUNS:
        return True, "runs"
    if status == REFUSED:
        said = last_words(told)
        call = next((line for line in told if re.fullmatch(r"cl\w+: -?\d+", line)), "")
        words = " ".join(dict.fromkeys(filter(None, (call, FOLDERS.sub("", said)))))
        return True, f"refused: {words}"
    if status == IMPOSSIBLE:
        return True, f"cannot be made here: {told[-1] if told else ''}"
    number = -status if status < 0 else status - 128
    if number in set(signal.Signals):
        return False, f"**{signal.Signals(number).name}** {told[-1] if told else ''}"
    return False, f"**status {status}**: {told[-1] if told else 'no word'}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PATTERN", help="surroundings whose names match")
    parser.add_argument("--libraries", type=Path, metavar="FOLDER", help="where allocators are")
    parser.add_argument("--driver", action="append", help="fpgart, pocl, or a library; the default: both")
    asked = parser.parse_args()
    program = compiled([HOSTS / "host.c"])
    drivers = {name: find_driver(name) for name in asked.driver or ("fpgart", "pocl")}
    print("| surroundings |", " | ".join(drivers), "|")
    print("|---" * (len(drivers) + 1) + "|")
    wrong = False
    with tempfile.TemporaryDirectory(dir=FOLDER.parent / "build") as folder:
        environments = {}
        for name, library in drivers.items():
            if library is None:
                parser.error(f"--driver {name}: there is no such driver here")
            vendors = Path(folder) / name
            vendors.mkdir()
            for each_folder in (vendors, vendors.parent):
                each_folder.chmod(0o755)
            environments[name] = seen_alone(library, vendors)
        for each in surroundings(asked.libraries):
            if not re.search(asked.only, each.name):
                continue
            found = {name: outcome(each, program, environment) for name, environment in environments.items()}
            ours, *others = (right for right, _ in found.values())
            wrong |= not ours and all(others)  # where the engine fails alone, the board cannot help it
            told = " | ".join(words.replace("|", "\\|") for _, words in found.values())
            print(f"| {each.name} | {told} |", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
