"""`fpgart clean`: what runs leave behind is removed, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import processes
import pytest
from c_hosts import plain_environment
from click.testing import CliRunner
from processes import finished, output

from fpgart.base import registration
from fpgart.cli import cleaning
from fpgart.cli.main import cli
from fpgart.sdk import folder as sdk


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who has run nothing yet, with folders of its own for data and temporary files."""
    (tmp_path / "tmp").mkdir()
    own = {"XDG_DATA_HOME": tmp_path / "data", "TMPDIR": tmp_path / "tmp", "XDG_RUNTIME_DIR": tmp_path / "run"}
    return {**plain_environment(), **{name: str(path) for name, path in own.items()}}


def fpgart(home: dict[str, str], *words: str) -> str:
    return output(processes.fpgart(*words, env=home))


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch, home: dict[str, str], tmp_path: Path) -> Callable[..., str]:
    """`fpgart clean` for that user, in this process: it must not touch what the tests beside use."""
    for name, value in home.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "package").mkdir()
    monkeypatch.setattr(registration, "PACKAGE", tmp_path / "package")
    monkeypatch.setattr(tempfile, "tempdir", home["TMPDIR"])
    monkeypatch.setattr(cleaning, "temporary_folders", lambda: [home["TMPDIR"]])

    def run(*words: str) -> str:
        result = CliRunner().invoke(cli, ["clean", *words], catch_exceptions=False)
        assert result.exit_code == 0
        return result.output

    return run


def below(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file()) if folder.exists() else []


def test_what_a_run_and_a_registration_leave_is_removed(
    home: dict[str, str], clean: Callable[..., str], tmp_path: Path
) -> None:
    fpgart(home, "run", "--", "true")
    fpgart(home, "icd", "--register")
    assert {"fpgart.icd", "fpgart-sdk.json"} <= set(below(tmp_path / "data"))
    other = tmp_path / "data" / "fpgart" / "kept"
    other.write_text("the user's")
    would = clean("--dry-run")
    assert below(tmp_path / "data") != ["kept"]
    assert clean() == would.replace("would remove", "removed")
    assert below(tmp_path / "data") == ["kept"]
    assert clean() == "nothing to remove\n"
    other.unlink()


def test_nothing_is_left_of_the_users_folder(home: dict[str, str], clean: Callable[..., str], tmp_path: Path) -> None:
    fpgart(home, "run", "--", "true")
    clean()
    assert not (tmp_path / "data" / "fpgart").exists()


def test_a_folder_of_a_run_is_removed_once_its_processes_have_ended(
    home: dict[str, str], clean: Callable[..., str], tmp_path: Path
) -> None:
    folder = tmp_path / "tmp" / "fpgart-run-abc"
    folder.mkdir(mode=0o700)
    host = [sys.executable, "-c", "print('runs', flush=True); input()"]
    environment = {**home, "OCL_ICD_VENDORS": str(folder)}
    with subprocess.Popen(host, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"runs\n"  # before the system has loaded it, it has no environment
        clean()
        assert folder.exists()
        run.kill()
    clean()
    assert not folder.exists()


def test_the_sdk_folder_of_an_installation_that_is_gone_is_removed(
    home: dict[str, str], clean: Callable[..., str], tmp_path: Path
) -> None:
    fpgart(home, "run", "--", "true")
    (stamp,) = (tmp_path / "data").rglob("fpgart-sdk.json")
    gone = stamp.parents[3] / "0123456789ab"
    shutil.copytree(stamp.parents[2], gone, symlinks=True)
    (copied,) = gone.rglob("fpgart-sdk.json")
    copied.write_text(copied.read_text().replace(str(sdk.PACKAGE), "/nowhere/fpgart"))
    living = stamp.parents[3] / "ba9876543210"
    shutil.copytree(stamp.parents[2], living, symlinks=True)
    clean()
    assert [path.name for path in stamp.parents[3].iterdir()] == ["ba9876543210"]


def test_other_users_folders_stay(clean: Callable[..., str], tmp_path: Path) -> None:
    """One that others can enter is not this user's private one, whatever its name is."""
    folder = tmp_path / "tmp" / f"fpgart-{os.geteuid()}"
    folder.mkdir(mode=0o755)
    clean()
    assert folder.exists()
    folder.chmod(0o700)
    clean()
    assert not folder.exists()


def test_what_was_written_beside_the_library_is_removed(clean: Callable[..., str], tmp_path: Path) -> None:
    for name in ("fpgart.icd", "fpgart.fcd", "interpreter.cfg", "libfpgart.so"):
        (tmp_path / "package" / name).touch()
    clean()
    assert below(tmp_path / "package") == ["libfpgart.so"]


def test_a_registration_whose_library_is_gone_hurts_nobody(home: dict[str, str], tmp_path: Path) -> None:
    """Loaders pass over it, and `fpgart doctor` names it and what to do."""
    fpgart(home, "icd", "--register")
    registered = tmp_path / "data" / "fpgart" / "vendors" / "fpgart.icd"
    registered.write_text("/nowhere/libfpgart.so\n")
    shutil.copy(registered, registered.with_name("another.icd"))
    registered.with_name("whole.icd").write_text(f"{registration.LIBRARY}\n")
    host = registration.PACKAGE / "c-host"
    variables = {**home, "OCL_ICD_VENDORS": str(registered.parent)}
    result = finished(host, "libOpenCL.so.1", env=variables)
    assert (result.returncode, "ran: " in result.stdout) == (0, True), result
    said = fpgart(home, "doctor")
    assert f"{registered} names /nowhere/libfpgart.so, which is gone: fpgart icd --unregister" in said


def test_a_folder_that_cannot_be_removed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", "inner")

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(PermissionError) as failure:
        cleaning.remove(tmp_path)
    assert failure.value.filename == str(tmp_path)
