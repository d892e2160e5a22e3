# SPDX-License-Identifier: Apache-2.0
"""Whose platform hosts see: who finds which one, and that programs run on each."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import processes
import pytest
from c_hosts import build, plain_environment
from processes import output

from fpgart.base import opencl as cl
from fpgart.base.personality import ALIASES, PERSONALITIES
from fpgart.board.catalogue import shipped
from fpgart.board.keystone import partition
from fpgart.engine.interface import Engine

ROOT = Path(__file__).resolve().parents[2]
LOOK = """
import json
import pyopencl as cl
(platform,) = cl.get_platforms()
devices = [(d.name, d.vendor, d.version, d.extensions.split()) for d in platform.get_devices()]
print(json.dumps([platform.name, platform.vendor, platform.version, devices]))
"""
PROGRAM = """
import numpy as np, pyopencl as cl, pyopencl.array
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
numbers = cl.array.to_device(queue, np.arange(1000, dtype=np.int32))
assert (2 * numbers + 1).get()[999] == 1999
"""
SOUGHT_BY_HOSTS = (
    "Intel(R) FPGA",
    "Intel(R) FPGA SDK",
    "Intel(R) FPGA SDK for OpenCL(TM)",
    "Intel(R) FPGA Emulation Platform for OpenCL(TM)",
    "Intel",
    "Altera",
    "Altera SDK for OpenCL",
)


def fpgart(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return processes.fpgart(*words, env=plain_environment(), **variables)


def seen(*options: str, **variables: str) -> tuple[str, str, str, list[list[Any]]]:
    """Returns name, vendor, version and devices of the one platform that a pyopencl host sees."""
    pytest.importorskip("pyopencl")
    printed = output(fpgart("run", *options, "--", sys.executable, "-c", LOOK, **variables))
    name, vendor, version, devices = json.loads(printed)
    return name, vendor, version, devices


def finds(sought: str, name: str) -> bool:
    """As the utilities of the boards' example designs look for a platform."""
    return sought.lower() in name.lower()


@pytest.mark.parametrize("board", ["usm_s10", "a10_ref"])
def test_an_intel_board_is_found_by_every_name_that_its_hosts_look_for(board: str) -> None:
    name = seen("--board", board)[0]
    assert [sought for sought in SOUGHT_BY_HOSTS if not finds(sought, name)] == []


def test_hosts_of_the_older_emulator_find_their_platform_and_its_device() -> None:
    name, _, _, devices = seen(CL_CONTEXT_EMULATOR_DEVICE_INTELFPGA="2")
    assert [sought for sought in SOUGHT_BY_HOSTS if not finds(sought, name)] == []
    assert [device[0] for device in devices] == ["EmulatorDevice : Emulated Device"] * 2


def test_hosts_of_the_newer_emulator_find_their_platform_and_its_device() -> None:
    name, _, _, devices = seen(CL_CONFIG_CPU_EMULATE_DEVICES="1")
    assert name == "Intel(R) FPGA Emulation Platform for OpenCL(TM)"
    assert [device[0] for device in devices] == ["Intel(R) FPGA Emulation Device"]


def test_hosts_of_the_simulator_find_the_boards_platform() -> None:
    name, _, _, devices = seen(CL_CONTEXT_MPSIM_DEVICE_INTELFPGA="1")
    assert name == "Intel(R) FPGA SDK for OpenCL(TM)"
    assert devices[0][0].startswith("SimulatorDevice : ")


def test_a_board_of_ti_has_tis_names() -> None:
    name, vendor, _, devices = seen("--board", "k2h")
    assert name.startswith("TI KeyStone II")
    assert vendor == "Texas Instruments, Inc."
    assert devices[0][:2] == ["TI Multicore C66 DSP", vendor]
    assert "cl_ti_msmc_buffers" in devices[0][3]


def test_what_is_asked_for_goes_before_what_the_board_chooses() -> None:
    assert seen("--board", "k2h", "--platform", "legacy", CL_CONFIG_CPU_EMULATE_DEVICES="1")[0] == (
        "Altera SDK for OpenCL"
    )


@pytest.mark.parametrize("key", PERSONALITIES)
def test_a_personality_answers_with_its_strings(key: str) -> None:
    wanted = PERSONALITIES[key]
    name, vendor, version, devices = seen("--platform", key)
    assert (name, vendor, version) == (wanted.name, wanted.vendor, wanted.version)
    assert devices[0][0] == wanted.name_of_device("usm_s10", 0)
    assert devices[0][2] == version
    assert set(wanted.extensions) <= set(devices[0][3])


@pytest.mark.parametrize("alias", ALIASES)
def test_earlier_names_of_personalities_go_on_to_work(alias: str) -> None:
    assert seen(FPGART_PLATFORM=alias)[0] == PERSONALITIES[ALIASES[alias]].name


@pytest.mark.parametrize("key", PERSONALITIES)
def test_versions_have_the_form_that_the_specification_wants(key: str) -> None:
    assert PERSONALITIES[key].version.startswith("OpenCL 3.0 ")


LONGEST = {
    ("p", cl.CL_PLATFORM_PROFILE): 16,
    ("p", cl.CL_PLATFORM_VERSION): 49,
    ("p", cl.CL_PLATFORM_NAME): 63,
    ("p", cl.CL_PLATFORM_VENDOR): 32,
    ("p", cl.CL_PLATFORM_EXTENSIONS): 1024,
    ("p", cl.CL_PLATFORM_ICD_SUFFIX_KHR): 16,
    ("d", cl.CL_DEVICE_NAME): 63,
    ("d", cl.CL_DEVICE_VENDOR): 63,
    ("d", cl.CL_DEVICE_PROFILE): 16,
    ("d", cl.CL_DEVICE_VERSION): 49,
    ("d", cl.CL_DRIVER_VERSION): 49,
    ("d", cl.CL_DEVICE_OPENCL_C_VERSION): 49,
    ("d", cl.CL_DEVICE_EXTENSIONS): 2048,
    ("d", cl.CL_DEVICE_BUILT_IN_KERNELS): 16,
    ("d", cl.CL_DEVICE_IL_VERSION): 49,
    ("d", cl.CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED): 49,
}
"""Bytes, the NUL included, in which hosts find room for each string."""
LONGER = {"any": 105}
"""Names of platforms that are longer where the host's memory holds them."""
OF_PROGRAMS = {
    ("r", cl.CL_PROGRAM_SOURCE): 123,
    ("r", cl.CL_PROGRAM_KERNEL_NAMES): 44,
    ("b", cl.CL_PROGRAM_BUILD_OPTIONS): 29,
    ("b", cl.CL_PROGRAM_BUILD_LOG): 2,
    ("k", cl.CL_KERNEL_FUNCTION_NAME): 44,
    ("k", cl.CL_KERNEL_ATTRIBUTES): 1,
    ("a", cl.CL_KERNEL_ARG_TYPE_NAME): 7,
    ("a", cl.CL_KERNEL_ARG_NAME): 26,
}
"""The same for a program of the host's: no more than it has written itself; a log may be an empty line."""


@pytest.fixture(scope="module")
def fixed_memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("fixed_memory", tmp_path_factory.mktemp("hosts"))


def answers(host: Path, sizes: dict[tuple[str, int], int], **variables: str) -> list[tuple[str, int, bool, str]]:
    """Returns the answers to a host with memory of these sizes: query, status, true for the right length, text."""
    asked = [f"{kind}{query:x}:{size:x}" for (kind, query), size in sizes.items()]
    done = subprocess.run(
        [host, *asked], env=plain_environment() | variables, check=True, capture_output=True, text=True
    )
    lines = (line.split("\t") for line in done.stdout.splitlines())
    return [(name, int(status), right == "1", text) for name, status, right, text in lines]


@pytest.mark.parametrize("family", ["a", "k"])
@pytest.mark.parametrize("key", PERSONALITIES)
def test_every_string_fits_into_the_memory_that_hosts_have_for_it(fixed_memory: Path, key: str, family: str) -> None:
    boards = [name for name in shipped() if (name in partition.shipped()) == (family == "k")]
    found = answers(fixed_memory, LONGEST, FPGART_PLATFORM=key, FPGART_BOARD=",".join(boards))
    assert found[-1][3] == str(len(boards))
    assert [each for each in found if each[1] != cl.CL_SUCCESS or not each[2]] == []


@pytest.mark.parametrize("family", ["a", "k"])
def test_strings_about_a_program_are_no_longer_than_what_the_host_wrote(
    fixed_memory: Path, engine: Engine, family: str
) -> None:
    boards = [name for name in shipped() if (name in partition.shipped()) == (family == "k")]
    found = answers(fixed_memory, OF_PROGRAMS, FPGART_BOARD=",".join(boards))
    assert len(found) == 1 + sum(len(boards) if kind == "b" else 1 for kind, _ in OF_PROGRAMS)
    assert [each for each in found if each[1] != cl.CL_SUCCESS or not each[2]] == []


def test_the_tables_have_every_query_for_a_string() -> None:
    sources = "".join(file.read_text() for file in (ROOT / "fpgart" / "api").glob("*.py"))
    answered = set(re.findall(r"cl\.(CL_\w+): (?:lambda [\w, ]+: (?:info\.string|arg_text)\(|kernel_names)", sources))
    assert {getattr(cl, name) for name in answered} == {query for _, query in (*LONGEST, *OF_PROGRAMS)}


@pytest.mark.parametrize("key", PERSONALITIES)
def test_a_name_of_a_platform_that_fits_no_classic_host_has_a_shorter_form(key: str) -> None:
    wanted, most = PERSONALITIES[key], LONGEST["p", cl.CL_PLATFORM_NAME]
    length = len(wanted.name) + 1
    assert (LONGER.get(key) == length and 0 < len(wanted.short_name) < most) or length <= most


SDK = "Intel(R) FPGA SDK for OpenCL(TM)"


@pytest.mark.parametrize(
    ("size", "status", "text"),
    [
        (len(SDK), cl.CL_INVALID_VALUE, ""),
        (len(SDK) + 1, cl.CL_SUCCESS, SDK),
        (len(PERSONALITIES["any"].name), cl.CL_SUCCESS, SDK),
        (len(PERSONALITIES["any"].name) + 1, cl.CL_SUCCESS, PERSONALITIES["any"].name),
    ],
)
def test_a_host_with_room_for_the_originals_name_alone_gets_that_name(
    fixed_memory: Path, size: int, status: int, text: str
) -> None:
    found = answers(fixed_memory, {("p", cl.CL_PLATFORM_NAME): size})[:2]
    assert [(each[1], each[3]) for each in found] == [(status, text)] * 2


@pytest.mark.parametrize("key", PERSONALITIES)
def test_clinfo_prints_no_error_under_any_personality(key: str) -> None:
    result = fpgart("run", "--platform", key, "--", "clinfo")
    assert result.returncode == 0
    lines = (result.stdout + result.stderr).splitlines()
    assert not [line for line in lines if "error -" in line.lower() or "<print" in line]
    assert any(line.split(maxsplit=2)[2:] == [PERSONALITIES[key].name] for line in lines)


@pytest.mark.parametrize("key", PERSONALITIES)
def test_pyopencl_computes_under_any_personality(key: str) -> None:
    pytest.importorskip("pyopencl")
    output(fpgart("run", "--platform", key, "--", sys.executable, "-W", "ignore", "-c", PROGRAM))


def test_info_lists_the_personalities_and_which_one_is_in_force() -> None:
    facts = json.loads(fpgart("info", "--json", FPGART_PLATFORM="intel").stdout)
    assert [each["key"] for each in facts["platforms"]] == list(PERSONALITIES)
    assert facts["chosen_platform"]["name"] == PERSONALITIES["intel"].name
    assert " * legacy " in fpgart("info", FPGART_PLATFORM="legacy").stdout


def test_board_names_are_what_stands_before_the_colon() -> None:
    """So hosts find binaries that are named after the board."""
    for key in ("any", "intel", "legacy"):
        assert PERSONALITIES[key].name_of_device("a10_ref", 0).partition(" :")[0] == "a10_ref"
