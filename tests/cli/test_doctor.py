"""`fpgart doctor`: what it tries, what it tells programs, and when it fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from c_hosts import plain_environment
from processes import fpgart

from fpgart.cli import doctor
from fpgart.icpx.pieces import SyclRuntime


def test_doctor_tells_programs_of_checks_versions_and_every_variable_in_force() -> None:
    set_here = {"FPGART_BOARD": "hetero", "OCL_ICD_VENDORS": "/nowhere", "POCL_DEBUG": "0"}
    variables = {**plain_environment(), **set_here, "PATH": "/nowhere"}  # so there is no compiler
    result = fpgart("doctor", "--json", env=variables)
    said = json.loads(result.stdout)
    states = {check["name"]: check["state"] for check in said["checks"]}
    assert (result.returncode, said["whole"]) == (0, True), said
    assert (states.pop("compiler"), states.pop("icpx")) == ("missing", "missing")
    assert {states.pop("ac_types"), states.pop("emulator")} <= {"ok", "missing"}  # as they are installed
    assert states == {name: "ok" for name in doctor.CHECKS if name in states}
    assert {"fpgart", "python", "system"} <= set(said)
    assert set_here.items() <= said["environment"].items()


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The checks, none so far."""
    chosen: dict[str, object] = {}
    monkeypatch.setattr(doctor, "CHECKS", chosen)
    return chosen


def missing() -> str:
    raise doctor.Missing("not everybody needs it")


def failing() -> str:
    raise doctor.Failure("do this")


def test_what_is_missing_and_not_needed_by_all_does_not_fail(
    checks: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    checks.update(here=lambda: "there", compiler=missing)
    assert doctor.run_checks() == 0
    said = capsys.readouterr().out.splitlines()
    assert said[1].split() == ["ok", "here", "there"]
    assert said[2].split() == ["--", "compiler", "not", "everybody", "needs", "it"]


def test_what_fails_does(checks: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    checks.update(engine=failing, here=lambda: "there")
    assert doctor.run_checks() == 1
    assert capsys.readouterr().out.splitlines()[1].split() == ["FAIL", "engine", "do", "this"]


def test_a_host_that_fails_is_told_with_what_it_said() -> None:
    program = (
        "import sys; print('failed: clThing returned -5'); print('fpgart: no platform', file=sys.stderr); sys.exit(1)"
    )
    with pytest.raises(doctor.Failure, match=r"status 1: failed: clThing returned -5; fpgart: no platform"):
        doctor.run_host(sys.executable, "-c", program)


@pytest.mark.parametrize(
    ("has_properties", "limits"),
    [(True, ""), (False, ", without device globals, host pipes and specialization constants")],
)
def test_the_limits_of_another_sycl_runtime_are_told(
    monkeypatch: pytest.MonkeyPatch, has_properties: bool, limits: str
) -> None:
    tools = SimpleNamespace(
        runtime=SyclRuntime("2025.2.0", Path("/sycl")),
        device=SimpleNamespace(has_properties=has_properties),
        host=Path("/bin/clang++"),
    )
    monkeypatch.setattr(doctor, "compile_sample", lambda: tools)
    library = "/sycl/lib/libsycl-jit.so"
    assert doctor.check_sycl() == f"{library} (2025.2.0) for devices{limits}, /bin/clang++ for hosts"


def test_one_cause_is_told_once(checks: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    """Checks that need what has failed are not tried."""
    checks.update(driver=lambda: "there", engine=failing, kernel=failing, trace=failing, compiler=lambda: "gcc")
    assert doctor.run_checks() == 1
    said = [line.split(None, 2) for line in capsys.readouterr().out.splitlines()[1:6]]
    assert [(state, name) for state, name, _ in said] == [
        ("ok", "driver"), ("FAIL", "engine"), ("skip", "kernel"), ("skip", "trace"), ("ok", "compiler"),
    ]  # fmt: skip
    assert said[2][2] == "not tried, because 'engine' failed"


def test_an_engine_that_is_none_is_one_failure() -> None:
    """End to end: FPGART_ENGINE names a file that is no driver."""
    variables = {**plain_environment(), "FPGART_ENGINE": "/etc/hostname"}
    result = fpgart("doctor", "--json", env=variables)
    states = {check["name"]: check["state"] for check in json.loads(result.stdout)["checks"]}
    assert result.returncode == 1
    assert [name for name, state in states.items() if state == "failed"] == ["engine"], states
