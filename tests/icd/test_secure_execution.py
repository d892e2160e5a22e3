"""Processes that run with other rights than their user's: nothing that the user controls reaches them but values.

Another user (nobody) starts a set-user-ID program of root's. Besides, C hosts of all kinds: no way into the driver's
interpreter.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from c_hosts import library_that_creates
from processes import ROOT, finished

from fpgart.base import config
from fpgart.base.output_file import open_output

PACKAGE = ROOT / "fpgart"
SOURCE = ROOT / "tests" / "programs" / "secure_host.c"
NOBODY = 65534
SERIES = f"{sys.version_info.major}.{sys.version_info.minor}"

set_user_id = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root makes a set-user-ID program that others start"
)


def compiled(folder: Path, library_folder: Path = PACKAGE) -> Path:
    """The host, linked with the driver itself, which it finds by its full path."""
    program = folder / "host"
    libraries = [f"-L{library_folder}", "-l:libfpgart.so", f"-Wl,-rpath,{library_folder}"]
    include = f"-I{ROOT / 'include'}"
    subprocess.run(["gcc", "-DCL_TARGET_OPENCL_VERSION=300", include, SOURCE, "-o", program, *libraries], check=True)
    return program


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can enter."""
    folder = Path(tempfile.mkdtemp(prefix="fpgart-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def strangers_folder(open_folder: Path) -> Path:
    """A folder of nobody's in which root's programs must leave nothing."""
    folder = open_folder / "stranger"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    return folder


def variables_of(stranger: Path) -> dict[str, str]:
    """Returns variables that a stranger may set; each creates a file in `stranger` if it is obeyed."""
    (stranger / "models.py").write_text(f"open({str(stranger / 'code-ran')!r}, 'w')\n")
    (stranger / "board.xml").write_text("<board/>\n")
    library = library_that_creates(stranger / "code-ran", stranger / "engine.so")
    return {
        "FPGART_TRACE": str(stranger / "trace"),
        "FPGART_SUMMARY": str(stranger / "summary"),
        "FPGART_LOG": str(stranger / "log"),
        "FPGART_USE_FILE": str(stranger / "use"),
        "FPGART_CAPTURE": str(stranger / "captures"),
        "FPGART_MODELS": str(stranger / "models.py"),
        "FPGART_ENGINE": str(library),
        "FPGART_BOARD": str(stranger / "board.xml"),
        "ACL_RUNTIME_PROFILING_ACTIVE": "1",
        "CL_CONTEXT_COMPILER_MODE_INTELFPGA": "1",
        "CL_CONTEXT_PROGRAM_EXE_LIBRARY_ROOT_INTELFPGA": str(stranger / "library"),
        "HOME": str(stranger),
        "XDG_CACHE_HOME": str(stranger / "cache"),
        "POCL_CACHE_DIR": str(stranger / "kernels"),
        "TMPDIR": str(stranger),
        "PYTHONPATH": str(stranger),
        "POCL_DEVICES": "nothing",
        "PATH": str(stranger),
    }


def as_nobody(program: Path, variables: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [shutil.which("setpriv") or "", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", str(program)]
    return finished(*command, cwd=folder, env=variables)


@set_user_id
def test_a_set_user_id_host_obeys_no_variable_that_names_files_or_code(
    open_folder: Path, strangers_folder: Path
) -> None:
    program = compiled(open_folder)
    program.chmod(0o4755)
    variables = variables_of(strangers_folder)
    before = set(strangers_folder.rglob("*"))
    ran = as_nobody(program, variables, strangers_folder)
    assert ran.stdout.endswith(": 42, secure 1\n"), ran.stderr
    assert set(strangers_folder.rglob("*")) == before
    assert ran.stderr.count("with rights other than those of its user") == 1
    for name in variables:
        assert (name in ran.stderr) == (name in config.OPTIONS), name


@set_user_id
def test_a_set_user_id_host_obeys_values(open_folder: Path) -> None:
    program = compiled(open_folder)
    program.chmod(0o4755)
    ran = as_nobody(
        program, {"FPGART_BOARD": "hetero", "FPGART_SUMMARY": "stderr", "FPGART_WARM_MEMORY": "0"}, Path("/")
    )
    assert "hetero" in ran.stdout, ran.stderr
    assert "with rights other" not in ran.stderr
    assert "device 0" in ran.stderr


def test_the_same_host_obeys_its_own_user(tmp_path: Path) -> None:
    program = compiled(tmp_path)
    trace = tmp_path / "trace"
    variables = {**os.environ, "FPGART_TRACE": str(trace), "FPGART_LOG": "stderr"}
    ran = finished(program, env=variables)
    assert ran.stdout.endswith(": 42, secure 0\n"), ran.stderr
    assert trace.stat().st_size > 0


def copy_of_package(folder: Path) -> Path:
    """The built package in another place."""
    return Path(shutil.copytree(PACKAGE, folder / "packages" / "fpgart", ignore=shutil.ignore_patterns("__pycache__")))


def writable(package: Path) -> None:
    package.chmod(0o777)


def in_writable_folder(package: Path) -> None:
    package.parent.chmod(0o1777)


def of_another_user(package: Path) -> None:
    os.chown(package, NOBODY, NOBODY)


@set_user_id
@pytest.mark.parametrize("spoil", [writable, in_writable_folder, of_another_user])
def test_a_set_user_id_host_refuses_code_that_others_can_change(
    open_folder: Path, spoil: Callable[[Path], None]
) -> None:
    package = copy_of_package(open_folder)
    program = compiled(open_folder, package)
    program.chmod(0o4755)
    spoil(package)
    ran = as_nobody(program, {}, open_folder)
    assert ran.returncode == 1
    assert "can be changed by users other than root" in ran.stderr


@set_user_id
def test_a_set_user_id_host_takes_code_that_is_roots(open_folder: Path) -> None:
    program = compiled(open_folder, copy_of_package(open_folder))
    program.chmod(0o4755)
    ran = as_nobody(program, {}, open_folder)
    assert ran.stdout.endswith(": 42, secure 1\n"), ran.stderr


def code_that_writes(marker: Path) -> str:
    return f"open({str(marker)!r}, 'w')\n"


def plant_on_python_path(folder: Path, marker: Path) -> dict[str, str]:
    for name in ("json", "cffi", "encodings", "sitecustomize", "usercustomize", "fpgart"):
        (folder / f"{name}.py").write_text(code_that_writes(marker))
    return {"PYTHONPATH": str(folder)}


def plant_in_working_folder(folder: Path, marker: Path) -> dict[str, str]:
    plant_on_python_path(folder, marker)
    return {}


def plant_in_user_site(folder: Path, marker: Path) -> dict[str, str]:
    site = folder / "lib" / f"python{SERIES}" / "site-packages"
    site.mkdir(parents=True)
    (site / "start.pth").write_text(f"import os; {code_that_writes(marker)}")
    (site / "usercustomize.py").write_text(code_that_writes(marker))
    return {"PYTHONUSERBASE": str(folder), "HOME": str(folder)}


def plant_at_python_home(folder: Path, marker: Path) -> dict[str, str]:
    library = folder / "lib" / f"python{SERIES}"
    library.mkdir(parents=True)
    for name in ("os", "site", "codecs", "io"):
        (library / f"{name}.py").write_text(code_that_writes(marker))
    return {"PYTHONHOME": str(folder), "PYTHONEXECUTABLE": str(folder / "bin" / "python3")}


def plant_startup(folder: Path, marker: Path) -> dict[str, str]:
    (folder / "startup.py").write_text(code_that_writes(marker))
    return {"PYTHONSTARTUP": str(folder / "startup.py"), "PYTHONINSPECT": "1", "PYTHONWARNINGS": "error"}


def plant_virtual_environment(folder: Path, marker: Path) -> dict[str, str]:
    (folder / "pyvenv.cfg").write_text("home = /nonexistent\ninclude-system-site-packages = true\n")
    return {**plant_in_user_site(folder, marker), "VIRTUAL_ENV": str(folder), "__PYVENV_LAUNCHER__": str(folder)}


@pytest.mark.parametrize(
    "plant",
    [
        plant_on_python_path,
        plant_in_working_folder,
        plant_in_user_site,
        plant_at_python_home,
        plant_startup,
        plant_virtual_environment,
    ],
)
def test_no_code_gets_into_the_interpreter_of_a_c_host(
    tmp_path: Path, plant: Callable[[Path, Path], dict[str, str]]
) -> None:
    program = compiled(tmp_path)
    marker = tmp_path / "code-ran"
    variables = {**os.environ, **plant(tmp_path, marker)}
    ran = finished(program, cwd=tmp_path, env=variables)
    assert ran.stdout.endswith(": 42, secure 0\n"), ran.stderr
    assert not marker.exists()


def test_only_options_that_lead_to_files_or_code_are_distrusted(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "FPGART_BOARD": "hetero,a10_ref",
        "FPGART_ENGINE": "pocl",
        "FPGART_LOG": "stderr",
        "FPGART_MODELS": "json",
        "FPGART_TRACE": "trace",
        "ACL_RUNTIME_PROFILING_ACTIVE": "1",
    }
    for name, text in given.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(config.Option, "distrusted", False)
    words = config.distrust_environment()
    try:
        assert words.endswith("not obeyed: FPGART_TRACE, FPGART_MODELS, ACL_RUNTIME_PROFILING_ACTIVE")
        assert config.BOARD.value == ("hetero", "a10_ref")
        assert config.ENGINE.value == "pocl"
        assert config.LOG.value == "stderr"
        assert config.MODELS.value == ()
        assert not config.TRACE.is_set
        assert config.PROFILING.value is False
    finally:
        config.Option.distrusted = False
        for option in config.OPTIONS.values():
            option.forget()


@pytest.fixture
def shared_folder(tmp_path: Path) -> Path:
    """A folder that everybody can write to, as /tmp is."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def test_no_link_is_followed_where_others_can_write(shared_folder: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (shared_folder / "log").symlink_to(precious)
    with pytest.raises(OSError, match="a link in a folder that everybody can write to"):
        open_output(str(shared_folder / "log"))
    assert precious.read_text() == "kept"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file to another user")
def test_no_file_of_another_user_is_written_where_others_can_write(shared_folder: Path) -> None:
    (shared_folder / "log").touch()
    os.chown(shared_folder / "log", NOBODY, NOBODY)
    with pytest.raises(OSError, match="another user's file"):
        open_output(str(shared_folder / "log"))


def test_links_of_ones_own_are_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.close(open_output(str(tmp_path / "link")))
    assert stat.S_ISREG((tmp_path / "file").stat().st_mode)
