"""`fpgart info` lists where files go; `fpgart doctor` finds what others can change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fpgart.cli.places import Place, places


def fpgart(command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fpgart.cli", command],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_what_only_its_user_can_change_has_no_fault(tmp_path: Path) -> None:
    assert Place("kernels", str(tmp_path), holds_code=True).fault() == ""


def test_what_is_not_there_yet_has_no_fault(tmp_path: Path) -> None:
    assert Place("kernels", str(tmp_path / "nothing"), holds_code=True).fault() == ""


def test_a_folder_that_everybody_can_write_to_has_a_fault(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    assert "can be written to by everybody (mode 0777)" in Place("traces", str(tmp_path)).fault()


def test_a_device_that_everybody_can_write_to_has_no_fault() -> None:
    assert Place("trace", "/dev/null").fault() == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another user")
def test_code_that_belongs_to_another_user_has_a_fault(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    assert "belongs to user 65534" in Place("kernels", str(tmp_path), holds_code=True).fault()


def test_what_options_name_is_among_the_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FPGART_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv("FPGART_LOG", "stderr")
    found = {place.purpose: place.path for place in places()}
    assert found["FPGART_TRACE"] == str(tmp_path / "trace")
    assert "FPGART_LOG" not in found


def test_info_lists_the_places(tmp_path: Path) -> None:
    shown = fpgart("info", FPGART_CAPTURE=str(tmp_path / "captures")).stdout
    assert f"   {tmp_path / 'captures'}  FPGART_CAPTURE" in shown
    assert "compiled kernels" in shown


def test_doctor_fails_where_everybody_can_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    result = fpgart("doctor", FPGART_CAPTURE=str(tmp_path))
    assert result.returncode == 1
    assert f"{tmp_path} (FPGART_CAPTURE) can be written to by everybody" in result.stdout
