"""`scripts/fresh-root` runs a command in a new Debian, or says in one line why it cannot."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

FRESH_ROOT = Path(__file__).resolve().parents[2] / "scripts" / "fresh-root"
NO_ROOT = 125
# Programs that need root or a registry, as they are where a root can be made: a Debian is its folders.
MACHINE = {
    "id": "echo 0",
    "apt-config": "echo 'Acquire::Retries \"3\";'",
    "mmdebstrap": """
        for last; do root=$before; before=$last; done
        mkdir -p "$root/etc/ssl/certs"; echo PRETTY_NAME=Bare > "$root/etc/os-release"; echo made > "$root/etc/issue"
    """,
    "unshare": '[ "$4" = true ] || { echo enters: $*; exit ${STATUS:-0}; }',
}
Run = Callable[..., "subprocess.CompletedProcess[str]"]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """`start(argument, ..., id="echo 1000")`: fresh-root where these programs are replaced."""
    commands, folders = tmp_path / "commands", tmp_path / "folders"
    commands.mkdir()
    folders.mkdir()

    def start(*arguments: object, status: int = 0, **replaced: str) -> subprocess.Popen[str]:
        for name, script in {**MACHINE, **replaced}.items():
            (commands / name).write_text(f"#!/bin/bash\n{script}\n")
            (commands / name).chmod(0o755)
        return subprocess.Popen(
            [FRESH_ROOT, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                "PATH": f"{commands}:{os.defpath}",
                "HOME": str(tmp_path),
                "TMPDIR": str(folders),
                "STATUS": str(status),
            },
        )

    return start


@pytest.fixture
def run(start: Start) -> Run:
    """As `start`, and waits for the end."""

    def run(*arguments: object, status: int = 0, **replaced: str) -> subprocess.CompletedProcess[str]:
        with start(*arguments, status=status, **replaced) as process:
            out, err = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    return run


@pytest.fixture
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for a root, outside of tmp_path: the clone has files that are traces, but not of this test."""
    return tmp_path_factory.mktemp("kept") / "root"


@pytest.mark.parametrize(
    ("arguments", "replaced", "words"),
    [
        ((), {}, "usage: fresh-root"),
        (("",), {}, "usage: fresh-root"),
        (("--suite", "trixie"), {}, "usage: fresh-root"),
        (("make",), {"id": "echo 1000"}, "run it as root"),
        (
            ("make",),
            {"unshare": "echo 'unshare failed: Operation not permitted' >&2; exit 1"},
            "Operation not permitted",
        ),
        (
            ("make",),
            {"mmdebstrap": "echo 'E: no name server answers' >&2; echo 'E: mmdebstrap failed to run' >&2; exit 25"},
            "try apt-get update: E: no name server answers",
        ),
        (("--suite", "ubuntu", "make"), {"mmdebstrap": "exit 25"}, "Ubuntu"),
    ],
    ids=["no command", "an empty command", "only a suite", "no rights", "no mounts", "no registry", "no Ubuntu"],
)
def test_a_root_that_cannot_be_made_is_one_line_and_a_status_of_its_own(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], replaced: dict[str, str], words: str
) -> None:
    result = run(*arguments, **replaced)
    assert (result.returncode, result.stdout) == (NO_ROOT, "")
    (line,) = [line for line in result.stderr.splitlines() if "not committed" not in line]
    assert line.startswith("fresh-root: ")
    assert words in line
    assert list((tmp_path / "folders").iterdir()) == []


@pytest.mark.parametrize("status", [0, 2])
def test_the_status_is_that_of_the_command_in_the_root(run: Run, status: int) -> None:
    result = run("make test", status=status)
    assert result.returncode == status, result.stderr
    assert "cd /project && make test" in result.stdout


def test_nothing_of_the_environment_reaches_the_root_but_what_reaches_the_registries(run: Run) -> None:
    (entered,) = [line for line in run("make test").stdout.splitlines() if line.startswith("enters: ")]
    assert "STATUS=" not in entered
    assert "HOME=/root " in entered


def test_folders_with_packages_of_this_machine_are_not_named_in_the_root(run: Run, tmp_path: Path, kept: Path) -> None:
    configuration = tmp_path / ".config" / "pip" / "pip.conf"
    configuration.parent.mkdir(parents=True)
    configuration.write_text("[global]\nfind-links = /opt/wheels\nextra-index-url = file:///opt/simple\ntimeout = 60\n")
    assert run("--keep", kept, "true").returncode == 0
    assert (kept / "root/.config/pip/pip.conf").read_text() == "[global]\ntimeout = 60\n"


def test_a_root_is_removed_unless_it_is_to_be_kept(run: Run, tmp_path: Path, kept: Path) -> None:
    run("true")
    run("--keep", kept, "true")
    assert (kept / "project" / "Makefile").exists()
    assert list((tmp_path / "folders").iterdir()) == []


def test_a_folder_that_has_files_is_not_made_a_root(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "letter").touch()
    result = run("--keep", folder, "true")
    assert result.returncode == NO_ROOT
    assert f"{folder} is not empty" in result.stderr
    assert [path.name for path in folder.iterdir()] == ["letter"]


def test_a_root_that_was_not_completed_is_removed_even_if_it_was_to_be_kept(run: Run, kept: Path) -> None:
    begins = MACHINE["mmdebstrap"] + "echo 'E: no name server answers' >&2; exit 25"
    assert run("--keep", kept, "true", mmdebstrap=begins).returncode == NO_ROOT
    assert not kept.exists()
    assert run("--keep", kept, "true").returncode == 0


def test_the_user_that_apt_reads_keys_as_can_reach_them(run: Run, tmp_path: Path, kept: Path) -> None:
    """mmdebstrap's last argument is the file with the sources, beside the keys."""
    mode = tmp_path / "mode"
    tells = MACHINE["mmdebstrap"] + f'stat --format=%a "$(dirname "$last")" > {mode}'
    assert run("--keep", kept, "true", mmdebstrap=tells).returncode == 0
    assert mode.read_text() == "755\n"


def test_what_runs_in_the_root_ends_with_fresh_root_and_the_root_is_removed(start: Start, tmp_path: Path) -> None:
    """unshare ignores SIGTERM while its child runs."""
    unshare = '[ "$4" = true ] || { trap "" TERM INT; echo "$$"; exec sleep 600; }'
    with start("make test", unshare=unshare) as running:
        assert running.stdout is not None
        running.stdout.readline()  # what the root is
        inside = int(running.stdout.readline())
        running.terminate()
        assert running.wait() == 130
    with pytest.raises(ProcessLookupError):
        os.kill(inside, 0)
    assert list((tmp_path / "folders").iterdir()) == []
