"""Images that were compiled ahead of time for Intel's FPGA emulator, as icpx up to 2025.0 puts them into programs.

None of these compilers can be had any more. The emulator itself makes the images here.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from c_hosts import ROOT, host_of, plain_environment
from processes import quiet_output

from fpgart.engine.choice import candidates

LIBRARY = ROOT / "fpgart" / "libfpgart.so"


class Images:
    """The program tests/programs/emulator_image.c, on the emulator alone and on a board."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "image"
        self.host = host_of(ROOT / "tests" / "programs" / "emulator_image.c", folder / "host", "-Wall", "-Werror")

    def run(self, driver: Path, verb: str, **options: str) -> subprocess.CompletedProcess[str]:
        vendors = self.folder / driver.name
        vendors.mkdir(exist_ok=True)
        (vendors / "driver.icd").write_text(f"{driver}\n")
        env = plain_environment() | {"OCL_ICD_VENDORS": str(vendors)} | options
        return subprocess.run([self.host, verb, self.file], env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Images:
    found = candidates("emulator")
    if not found:
        pytest.skip("Intel's FPGA emulator is not installed")
    made = Images(tmp_path_factory.mktemp("images"))
    quiet_output(made.run(found[0][1], "make"))
    return made


@pytest.mark.parametrize("isolated", ["0", "1"])
def test_kernels_of_an_image_run_on_a_board_and_wait_for_each_other(images: Images, isolated: str) -> None:
    done = images.run(LIBRARY, "run", FPGART_ENGINE="emulator", FPGART_ISOLATE=isolated)
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


def test_another_engine_refuses_an_image_and_names_the_emulator(images: Images) -> None:
    done = images.run(LIBRARY, "run", FPGART_ENGINE="pocl", FPGART_LOG="stderr")
    assert (done.returncode, "clCreateProgramWithBinary: status -42" in done.stderr) == (1, True)
    assert "FPGART_ENGINE=emulator" in done.stderr
