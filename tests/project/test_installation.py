"""A wheel built on one machine works where it is installed: another path, no environment, any host."""

from __future__ import annotations

import os
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from processes import ROOT, finished, output

HOST = ROOT / "examples" / "host.c"
pytestmark = pytest.mark.timeout(1800)  # the wheel is compiled: 40 s of a processor, which others may want, too


def run(*words: object, **environment: str) -> str:
    """Runs a program in an environment of its own; returns what it printed."""
    return output(finished(*words, cwd="/", env={"PATH": os.defpath, **environment}))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    source = folder / "source"
    source.mkdir()
    for name in ("build_icd.py", "setup.py", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "MANIFEST.in"):
        (source / name).symlink_to(ROOT / name)
    for name in ("icd", "include"):
        (source / name).symlink_to(ROOT / name)
    copied = finished("cp", "-r", ROOT / "fpgart", source / "fpgart")
    assert copied.returncode == 0, copied.stderr
    for made in [*source.glob("fpgart/*.so"), *source.glob("fpgart/*.icd")]:
        made.unlink()
    run(sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", folder, source, HOME=str(folder), CFLAGS="-O0")
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, and the packages that this Python already has."""
    place = tmp_path_factory.mktemp("elsewhere") / "a folder"
    venv.create(place, with_pip=False, symlinks=True)
    site = place / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    run(sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", "--disable-pip-version-check",
        "--target", site, wheel)  # fmt: skip
    import cffi

    packages = Path(cffi.__file__).parent.parent
    for package in packages.iterdir():
        wanted = package.name.startswith(("cffi", "_cffi", "pyopencl", "pocl", "numpy", "pytools", "platformdirs",
                                          "typing_extensions", "siphash24", "click"))  # fmt: skip
        if wanted and not (site / package.name).exists():
            (site / package.name).symlink_to(package)
    return site / "fpgart"


def test_the_wheel_has_driver_registration_and_boards(wheel: Path, installation: Path) -> None:
    assert (installation / "libfpgart.so").is_file()
    assert (installation / "libfpgart_mmd.so").is_file()
    with zipfile.ZipFile(wheel) as packed:  # `fpgart icd` writes the whole path into the file that is installed
        assert packed.read("fpgart/fpgart.icd") == b"libfpgart.so\n"
    assert (installation / "board" / "boards" / "usm_s10.xml").is_file()
    compiled_later = {"emulator_clock.c"}  # by icpx, into SYCL programs
    assert {path.name for path in installation.rglob("*.c")} == compiled_later


def test_the_wheel_has_what_hosts_are_compiled_with(installation: Path) -> None:
    names = {header.name for header in (ROOT / "include" / "CL").iterdir()}
    assert {header.name for header in (installation / "include" / "CL").iterdir()} == names
    assert (installation / "include" / "aocl_mmd.h").is_file()
    for file in ("libalteracl.a", "share/cmake/fpgart/fpgartConfig.cmake", "share/pkgconfig/fpgart.pc"):
        assert (installation / file).is_file()


def test_pytest_finds_the_plugin_of_the_installed_package(installation: Path) -> None:
    (described,) = metadata.distributions(name="fpgart", path=[str(installation.parent)])
    (plugin,) = described.entry_points.select(group="pytest11")
    assert plugin.name == "fpgart"
    assert (installation.parent / f"{plugin.value.replace('.', '/')}.py").is_file()


def test_a_c_host_runs_on_the_installed_driver_without_any_environment(installation: Path, tmp_path: Path) -> None:
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "fpgart.icd").write_text(f"{installation / 'libfpgart.so'}\n")
    program = tmp_path / "host"
    run("gcc", f"-I{ROOT / 'include'}", "-o", program, HOST, "-lOpenCL", "-lm")
    output = run("/usr/bin/env", "-i", f"OCL_ICD_VENDORS={vendors}", program)
    assert output.count("right") == 2


def test_a_c_host_is_built_and_run_by_the_installed_flags_alone(installation: Path, tmp_path: Path) -> None:
    python = installation.parents[3] / "bin" / "python"
    place = tmp_path / "place"
    place.mkdir()
    (place / "fpgart").symlink_to(installation)  # compilers' flags are divided at blanks
    flags = [f"-I{place}/fpgart/include", f"-L{place}/fpgart", f"-Wl,-rpath,{place}/fpgart"]
    said = run(python, "-m", "fpgart.cli", "cflags") + run(python, "-m", "fpgart.cli", "libs")
    assert f"-I{installation}/include" in said
    assert said.rstrip().endswith("-lalteracl -lfpgart")
    run("gcc", *flags, "-o", tmp_path / "host", HOST, "-lalteracl", "-lfpgart", "-lm")
    assert run("/usr/bin/env", "-i", tmp_path / "host").count("right") == 2


def test_the_installed_command_names_its_folder_for_loaders(installation: Path) -> None:
    python = installation.parents[3] / "bin" / "python"
    folder = run(python, "-m", "fpgart.cli", "icd").strip()
    entry = next(Path(folder).glob("*.icd")).read_text().strip()
    assert (Path(folder) / entry).resolve() == installation / "libfpgart.so"
