# SPDX-License-Identifier: Apache-2.0
"""conformance/cts.py: what it makes of tests that pass, fail, hang, die or leave themselves out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import cts
import pytest
from processes import finished, output

RUNNER = Path(__file__).resolve().parents[2] / "conformance" / "cts.py"

# As a suite's program: lists its tests, or runs one and writes its result, `here` on fpgart, `engine` on the engine.
SUITE = """#!{python}
import json, os, signal, sys
from pathlib import Path
if sys.argv[1:] == ["--list"]:
    print("\\t" + "\\n\\t".join({behaviours!r}))
    sys.exit()
name = sys.argv[-1]
driver = next(Path(os.environ["OCL_ICD_VENDORS"]).glob("*.icd")).read_text()
said = {behaviours!r}[name]["here" if "libfpgart" in driver else "engine"]
if said == "hang":
    signal.pause()
if said == "die":
    os.abort()
print("words of", name)
Path(os.environ["CL_CONFORMANCE_RESULTS_FILENAME"]).write_text(json.dumps({{"results": {{name: said}}}}))
sys.exit(said == "fail")
"""


def built(folder: Path, behaviours: dict[str, dict[str, str]]) -> Path:
    """A folder as a build leaves it, with one suite."""
    program = folder / "built" / "test_conformance" / "api" / "test_api"
    program.parent.mkdir(parents=True)
    program.write_text(SUITE.format(python=sys.executable, behaviours=behaviours))
    program.chmod(0o755)
    return folder / "built"


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    engine = folder / "libengine.so"
    engine.touch()
    return finished(sys.executable, RUNNER, folder / "built", "--suite", "api", *options, FPGART_ENGINE=str(engine))


def both(outcome: str) -> dict[str, str]:
    return {"here": outcome, "engine": outcome}


def test_what_passes_on_both_is_success(tmp_path: Path) -> None:
    built(tmp_path, {"one": both("pass"), "two": both("fail")})
    assert output(run(tmp_path)).splitlines()[-1].split() == ["all", "2", "1", "1", "0", "0"]


@pytest.mark.parametrize("here", ["fail", "die"])
def test_what_passes_on_the_engine_alone_is_told_and_fails(tmp_path: Path, here: str) -> None:
    built(tmp_path, {"one": {"here": here, "engine": "pass"}})
    result = run(tmp_path)
    assert result.returncode == 1
    assert "fails on fpgart only: api/one" in result.stdout


def test_what_leaves_itself_out_is_counted_apart(tmp_path: Path) -> None:
    built(tmp_path, {"one": {"here": "skip", "engine": "pass"}})
    printed = output(run(tmp_path))
    assert "left out on fpgart only: api: one" in printed
    assert printed.splitlines()[-1].split() == ["all", "1", "1", "0", "0", "1"]


@pytest.mark.parametrize(("hangs", "outcome"), [(1, cts.Result("pass")), (2, cts.Result("fail", "2 times: it hangs"))])
def test_a_test_that_hangs_is_begun_again_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hangs: int, outcome: cts.Result
) -> None:
    tries = []

    def status_within(
        seconds: float, command: Sequence[object], environment: Mapping[str, str], folder: Path, output: Path
    ) -> int:
        tries.append(seconds)
        if len(tries) <= hangs:
            raise cts.Unfinished("it hangs")
        Path(environment["CL_CONFORMANCE_RESULTS_FILENAME"]).write_text('{"results": {"one": "pass"}}')
        return 0

    monkeypatch.setattr(cts, "status_within", status_within)
    assert cts.Runner({}, tmp_path, 7).run(tmp_path / "test_api", cts.Test("api", "one")) == outcome
    assert tries == [7, 7]


def test_a_test_that_does_not_end_is_ended_and_told(tmp_path: Path) -> None:
    built(tmp_path, {"one": both("hang")})
    run(tmp_path, "--patience", "1", "--json", str(tmp_path / "all.json"))
    (told,) = map(json.loads, (tmp_path / "all.json").read_text().splitlines())
    assert "2 times: did not end within 1 s" in told["fpgart"]["words"]


def test_the_outcomes_of_chosen_tests_go_into_a_file(tmp_path: Path) -> None:
    built(tmp_path, {"one": both("pass"), "two": both("pass"), "three": both("fail")})
    run(tmp_path, "--test", "t*", "--json", str(tmp_path / "all.json"))
    outcomes = [json.loads(line) for line in (tmp_path / "all.json").read_text().splitlines()]
    assert {(each["test"], each["fpgart"]["outcome"]) for each in outcomes} == {
        ("api/two", "pass"),
        ("api/three", "fail"),
    }


def test_a_folder_without_tests_is_refused_with_words(tmp_path: Path) -> None:
    (tmp_path / "built").mkdir()
    result = run(tmp_path)
    assert result.returncode == 1
    assert "has neither sources of OpenCL-CTS nor programs" in result.stderr
