# SPDX-License-Identifier: Apache-2.0
"""conformance/repeat.py: what it counts of hosts that end well, hang, fail, print something else or lack something."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import patience
import pytest
from processes import finished

RUNNER = Path(__file__).resolve().parents[2] / "conformance" / "repeat.py"

Repeat = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def repeat(tmp_path: Path) -> Repeat:
    """Runs hosts twice each, whose sources are given by name; further keys of the list's entries by name, too."""
    engine = tmp_path / "libengine.so"
    engine.touch()

    def run(sources: dict[str, str], *options: str, **more: object) -> subprocess.CompletedProcess[str]:
        for name, source in sources.items():
            (tmp_path / name).write_text(source)
        entries = [{"file": name, "loader": True, **more} for name in sources]
        (tmp_path / "hosts.json").write_text(json.dumps(entries))
        return finished(
            sys.executable, RUNNER, "--runs", "2", *options, tmp_path / "hosts.json", FPGART_ENGINE=str(engine)
        )

    return run


def counts(result: subprocess.CompletedProcess[str], host: str) -> list[str]:
    """Returns the table's columns for a host, without its name and the engine's."""
    line = next(line for line in result.stdout.splitlines() if line.startswith(host) and "libengine.so" in line)
    return line.split("libengine.so")[1].split()


def test_a_host_that_ends_well_has_runs_alone(repeat: Repeat) -> None:
    result = repeat({"well.py": "print('all is right')"}, prints="is r")
    assert (counts(result, "well"), result.returncode) == (["2", "0", "0"], 0)


def test_a_host_that_does_not_end_in_time_hangs(repeat: Repeat) -> None:
    """The next host has its turn all the same."""
    result = repeat(dict.fromkeys(("stuck.py", "too.py"), "import signal; signal.pause()"), "--patience", "1")
    assert (counts(result, "stuck"), result.returncode) == (["2", "2", "0"], 1)
    assert "did not end within 1 s: " in result.stdout
    assert counts(result, "too") == ["2", "2", "0"]


def state_of(process: int) -> str:
    """The letter of proc(5); X for one that is not there."""
    try:
        return Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def test_what_a_hanging_host_has_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time is up as soon as its child sleeps."""
    file = tmp_path / "child"
    source = f"""
import os, signal
child = os.fork()
if child:
    open({str(file)!r}, "w").write(f"{{child}}\\n")
signal.pause()
"""

    class Hanging(subprocess.Popen[bytes]):
        def wait(self, timeout: float | None = None) -> int:
            if timeout is None:
                return super().wait()
            while not (file.exists() and file.read_text().endswith("\n") and state_of(int(file.read_text())) == "S"):
                time.sleep(0.01)
            while state_of(self.pid) != "S":
                time.sleep(0.01)
            raise subprocess.TimeoutExpired(self.args, timeout)

    monkeypatch.setattr(subprocess, "Popen", Hanging)
    with pytest.raises(patience.Unfinished, match="did not end within 7 s: 0 threads run, 1 sleep, after"):
        patience.status_within(7, [sys.executable, "-c", source], os.environ, tmp_path, tmp_path / "output")
    while state_of(int(file.read_text())) not in "XZ":  # Z: nobody has read its status yet
        time.sleep(0.01)


def test_a_host_ends_with_what_has_started_it(tmp_path: Path) -> None:
    host = "import signal; print('begun', flush=True); signal.pause()"
    source = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(RUNNER.parent)!r})
import patience
folder = Path({str(tmp_path)!r})
patience.status_within(1000, [sys.executable, "-c", {host!r}], {{}}, folder, folder / "output")
"""
    os.mkfifo(tmp_path / "output")
    runner = subprocess.Popen([sys.executable, "-c", source])
    with (tmp_path / "output").open() as output:
        assert output.readline() == "begun\n"
        runner.kill()
        runner.wait()
        assert output.read() == "", "the end of the file: the host, its only writer, has ended"


def test_another_status_is_a_failure_and_its_words_are_told(repeat: Repeat) -> None:
    result = repeat({"wrong.py": "raise SystemExit('a wrong sum: 41')"})
    assert (counts(result, "wrong"), result.returncode) == (["2", "0", "2"], 1)
    assert "a wrong sum: 41" in result.stdout


def test_a_signal_is_a_failure(repeat: Repeat) -> None:
    result = repeat({"dies.py": "import os; os.abort()"})
    assert counts(result, "dies") == ["2", "0", "2"]
    assert "signal 6" in result.stdout


def test_a_host_that_prints_something_else_fails(repeat: Repeat) -> None:
    assert counts(repeat({"quiet.py": ""}, prints="all is right"), "quiet") == ["2", "0", "2"]


def test_a_status_that_the_list_names_is_right(repeat: Repeat) -> None:
    assert counts(repeat({"three.py": "raise SystemExit(3)"}, status=3), "three") == ["2", "0", "0"]


def test_a_device_that_lacks_what_a_host_is_about_is_no_failure(repeat: Repeat) -> None:
    result = repeat({"lacks.py": "raise SystemExit(77)"})
    assert (counts(result, "lacks"), result.returncode) == (["lacking"], 0)


def test_hosts_get_their_arguments_and_variables(repeat: Repeat) -> None:
    source = "import os, sys; print(sys.argv[1], os.environ['COLOUR'])"
    result = repeat({"told.py": source}, arguments=["7"], environment={"COLOUR": "red"}, prints="^7 red$")
    assert counts(result, "COLOUR=red told 7") == ["2", "0", "0"]


def test_hosts_in_c_are_compiled_and_find_the_driver_alone(repeat: Repeat) -> None:
    source = """
        #include <CL/cl.h>
        #include <stdio.h>
        int main(void) { cl_uint n = 0; clGetPlatformIDs(0, NULL, &n); printf("%u platforms", n); return 0; }
    """
    assert counts(repeat({"finds.c": source}, prints="^1 platforms$"), "finds") == ["2", "0", "0"]


def test_an_interrupted_run_tells_what_it_has_counted(repeat: Repeat) -> None:
    """The next host may have been started before the signal was handled; it is waited for then."""
    source = "import os, signal; os.kill(os.getppid(), signal.SIGTERM)"
    result = repeat({"ends_it.py": source, "next.py": ""}, "--runs", "1000")
    assert "interrupted" in result.stdout
    assert counts(result, "ends_it") == ["1", "0", "0"]
    assert counts(result, "next") in (["0", "0", "0"], ["1", "0", "0"])


def test_a_source_that_does_not_compile_is_told(repeat: Repeat) -> None:
    result = repeat({"broken.c": "int main(void) {"})
    assert result.returncode == 1
    assert "broken.c cannot be compiled" in result.stderr


@pytest.mark.parametrize("text", ["not JSON", '[{"arguments": []}]', '[{"file": "x.c", "colour": "red"}]'])
def test_what_is_no_list_of_hosts_is_told(text: str, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text(text)
    result = finished(sys.executable, RUNNER, wrong)
    assert result.returncode == 1
    assert f"{wrong} is not a list of hosts" in result.stderr
