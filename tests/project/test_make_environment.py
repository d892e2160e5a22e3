"""`make` sets up its environment completely, or says in one line why not, and starts over the next time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from c_hosts import plain_environment
from processes import ROOT, finished

from fpgart.engine.choice import pocl_libraries

ENVIRONMENT = ROOT / "scripts" / "environment"
FIND_PYTHON = ROOT / "scripts" / "find-python"
ENGINE_PACKAGE = ROOT / "scripts" / "engine-package"
SYSTEM_PACKAGES = ROOT / "scripts" / "system-packages"

# A Python whose environments have a pip that copies a file per call, and does in its second call what PIP says.
PYTHON = """#!/bin/sh
if [ "$1" = -m ]; then
    mkdir -p "$3/bin"
    ln -sf "$0" "$3/bin/python"
    printf '%s\\n' '#!/bin/sh' 'folder=$(dirname "$0")' \\
        'echo copied >> "$folder/packages"' \\
        '[ "$(wc -l < "$folder/packages")" = 1 ] && exit 0' \\
        'case ${PIP:-} in' \\
        'fail) echo "WARNING: Retrying"; echo "ERROR: no matching distribution found for numpy" >&2; exit 1;;' \\
        'kill) kill -KILL "$PPID"; exit 1;;' \\
        'esac' > "$3/bin/pip"
    chmod +x "$3/bin/pip"
fi
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    made = tmp_path / "python"
    made.write_text(PYTHON)
    made.chmod(0o755)
    return made


def make_environment(python: Path, folder: Path, pip: str = "") -> subprocess.CompletedProcess[str]:
    """Runs scripts/environment for a folder, with a pip that fails or is killed if `pip` says so."""
    return finished(ENVIRONMENT, folder, cwd=python.parent, env={"PATH": os.defpath, "PYTHON": str(python), "PIP": pip})


def packages(folder: Path) -> int:
    return len((folder / "bin" / "packages").read_text().splitlines())


def test_an_environment_is_complete_once_all_packages_are_there(python: Path, tmp_path: Path) -> None:
    folder = tmp_path / "venv"
    assert make_environment(python, folder).returncode == 0
    assert (folder / ".installed").exists()
    assert not (folder / ".installing").exists()


def test_a_pip_that_fails_gives_one_line_with_its_error_and_what_to_do(python: Path, tmp_path: Path) -> None:
    made = make_environment(python, tmp_path / "venv", pip="fail")
    assert (made.returncode, made.stdout) == (1, "")
    (line,) = made.stderr.splitlines()
    assert "no matching distribution found for numpy" in line
    assert "a registry did not answer" in line
    assert "build/environment.log" in line
    assert "call make again" in line
    assert "WARNING: Retrying" in (tmp_path / "build" / "environment.log").read_text()


@pytest.mark.parametrize("how", ["fail", "kill"])
def test_an_environment_that_was_left_half_is_made_anew(python: Path, tmp_path: Path, how: str) -> None:
    folder = tmp_path / "venv"
    assert make_environment(python, folder, pip=how).returncode != 0
    assert not (folder / ".installed").exists()
    assert packages(folder) == 2
    assert make_environment(python, folder).returncode == 0
    assert packages(folder) == 2  # and not four, of which pip would believe the first two


def test_an_update_that_fails_leaves_nothing_that_the_next_make_believes(python: Path, tmp_path: Path) -> None:
    folder = tmp_path / "venv"
    make_environment(python, folder)
    (folder / "bin" / "packages").unlink()
    assert make_environment(python, folder, pip="fail").returncode == 1
    assert not (folder / ".installed").exists()
    assert make_environment(python, folder).returncode == 0
    assert packages(folder) == 2


def test_a_folder_with_other_files_is_left_alone(python: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "letter").write_text("dear")
    made = make_environment(python, folder)
    assert made.returncode == 1
    assert [path.name for path in folder.iterdir()] == ["letter"]
    (line,) = made.stderr.splitlines()
    assert f"{folder} is not an environment that make has completed" in line


@pytest.mark.parametrize("named", ["/nowhere/python3", "false", "/etc", "no such python"])
def test_a_python_that_does_not_suit_is_named_with_what_it_has_to_have(named: str) -> None:
    found = finished(FIND_PYTHON, env={"PATH": "/nowhere:/usr/bin:/bin", "PYTHON": named})
    (line,) = found.stderr.splitlines()
    assert (found.returncode, found.stdout) == (1, "")
    assert line.startswith(f"PYTHON={named} is no Python 3.10 or newer")


def test_the_python_that_is_named_is_the_one_that_is_taken(python: Path) -> None:
    found = finished(FIND_PYTHON, env={"PATH": os.defpath, "PYTHON": str(python)})
    assert found.stdout.strip() == str(python)


@pytest.mark.parametrize("folder", ["a folder", ""])
def test_a_name_of_the_environment_that_make_cannot_use_is_an_error_that_says_so(folder: str) -> None:
    made = finished("make", "--dry-run", f"VENV={folder}", "build", cwd=ROOT, env=dict(os.environ))
    assert made.returncode == 2
    (line,) = made.stderr.splitlines()
    assert f'VENV="{folder}": make knows no file names with spaces' in line


Machine = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """`machine(kind, ..., user=, update=)`: what scripts/system-packages says where nothing is installed.

    The commands that it finds are those of the shell, `id` with the number of the user, and an apt-get that installs
    nothing and whose `update` answers as it is told.
    """
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in ("sh", "dirname", "grep", "tail", "env"):
        (commands / name).symlink_to(shutil.which(name) or name)

    def command(name: str, script: str) -> None:
        (commands / name).write_text(f"#!/bin/sh\n{script}\n")
        (commands / name).chmod(0o755)

    def run(*words: str, user: int, update: str = "") -> subprocess.CompletedProcess[str]:
        command("id", f"echo {user}")
        command("apt-get", f'[ "$1" = install ] || {{ {update or "exit 0"}; }}')
        return subprocess.run(
            [SYSTEM_PACKAGES, *words], capture_output=True, text=True, env={"PATH": str(commands)}, check=False
        )

    return run


SILENT = 'echo "W: some index" >&2; echo "E: no name server answers" >&2; exit 100'
MISSING = "missing on this machine; install as root: apt install gcc "
REASON = " (E: no name server answers)"


@pytest.mark.parametrize(
    ("words", "more", "code", "begin", "end"),
    [
        ("build", {"user": 1000}, 1, MISSING + "libc6-dev g++ make clinfo", ""),
        ("build", {"user": 0, "update": SILENT}, 1, MISSING, REASON),
        ("tests", {"user": 0, "update": SILENT}, 0, "not installed for the tests: chromium ", REASON),
    ],
    ids=["a user who is not root", "a registry that does not answer", "only for some tests"],
)
def test_what_cannot_be_had_is_named_in_one_line(
    machine: Machine, words: str, more: dict[str, Any], code: int, begin: str, end: str
) -> None:
    said = machine(words, **more)
    assert said.returncode == code
    (line,) = said.stderr.splitlines()
    assert line.startswith(begin)
    assert line.endswith(end)


def test_the_list_after_the_tests_names_what_was_not_here_in_one_line(machine: Machine) -> None:
    said = machine("tests", "--list", user=0)
    assert said.returncode == 0
    (line,) = said.stderr.splitlines()
    assert line.startswith("tests that need one of these were skipped; as root: apt install chromium ")
    assert {"strace", "gcc-aarch64-linux-gnu", "cmake"} <= set(line.split())


@pytest.mark.parametrize("whole", [True, False], ids=["with its data", "without its data"])
def test_a_pocl_counts_only_if_it_builds_a_kernel(tmp_path: Path, whole: bool) -> None:
    """PoCL looks for its data in a folder beside its library."""
    library = next(pocl_libraries())
    if not whole:
        library = Path(shutil.copy(library, tmp_path / "libpocl.so.2"))
    python = tmp_path / "python"
    alone = f"choice.pocl_libraries = lambda: iter([Path('{library}')])"
    start = f"import sys; from pathlib import Path; from fpgart.engine import choice; {alone}; exec(sys.argv[1])"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{start}" "$2"\n')
    python.chmod(0o755)
    said = finished(ENGINE_PACKAGE, python, env=plain_environment())
    assert said.returncode == (0 if whole else 1), said.stderr
    words = [line.partition(" (")[0] for line in said.stderr.splitlines()]
    wanted = "no PoCL here builds kernels; as root: apt install --reinstall libpocl2 libpocl2-common"
    assert words == ([] if whole else [wanted])


def make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs `make build` of the repository for an environment in that folder."""
    return finished("make", f"VENV={folder}", *words, "build", cwd=ROOT)


def test_an_environment_whose_python_has_gone_is_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to("/nowhere/python3.9")
    (folder / ".installed").touch()
    assert f"scripts/environment {folder}" in make(folder, "--dry-run").stdout
    assert [path.name for path in sorted(folder.iterdir())] == [".installing", "bin"]


def test_a_python_that_does_not_suit_ends_make_before_anything_is_installed(tmp_path: Path) -> None:
    folder = tmp_path / "venv"
    made = make(folder, "PYTHON=/nowhere/python3")
    assert made.returncode == 2
    said = [line for line in made.stderr.splitlines() if not line.startswith("make")]
    assert len(said) == 1
    assert said[0].startswith("PYTHON=/nowhere/python3 is no Python 3.10 or newer")
    assert not folder.exists()
