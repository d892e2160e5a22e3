# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: `pytest --fpgart-board usm_s10`. Only the fixtures load the driver."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fpgart.testing.bench import Bench
    from fpgart.testing.faulty import BenchFaults
    from fpgart.testing.traced import Traced

BOARDS = pytest.StashKey[tuple[str, ...]]()
EARLIER = pytest.StashKey[dict[str, str | None]]()
BENCH = pytest.StashKey["Bench"]()
NO_BOARD = "name a board for the fixture fpga: pytest --fpgart-board usm_s10, or fpgart_board = usm_s10 in the ini file"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fpgart", "OpenCL hosts on simulated boards")
    words = "boards for the fixture fpga, one per device: names, or paths of board_spec.xml files, separated by commas"
    group.addoption("--fpgart-board", metavar="NAME,...", default="", help=words)
    group.addoption(
        "--fpgart-traces",
        metavar="DIR",
        default="",
        help="folder for the trace of each test that uses the fixture fpga, for `fpgart report DIR/*.json`",
    )
    parser.addini("fpgart_board", words, default="")
    parser.addini("fpgart_platform", "which platform hosts see: FPGART_PLATFORM in docs/options.md", default="")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Registers the driver as early as possible: loaders look for drivers once, and conftests may import pyopencl."""
    _register(early_config, early_config.known_args_namespace.fpgart_board)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the driver for plugins that are loaded late (`pytest_plugins` in a conftest)."""
    _register(config, config.getoption("fpgart_board"))
    traces = config.getoption("fpgart_traces")
    if traces:
        config.option.fpgart_traces = str(config.invocation_params.dir / traces)  # workers may have other folders


def _register(config: pytest.Config, option: str) -> None:
    """Makes the loaders of this process find the driver; raises UsageError."""
    if BOARDS in config.stash:
        return
    settings = _of_project(config.rootpath)
    board = option or config.getini("fpgart_board") or settings.get("FPGART_BOARD")
    if not board:
        return
    base = config.invocation_params.dir if option else config.rootpath
    from fpgart.base import config as options
    from fpgart.base.option_paths import Holds, absolute
    from fpgart.base.option_values import names
    from fpgart.base.registration import RegistrationError
    from fpgart.cli.running import for_loaders
    from fpgart.cli.validation import refuse_wrong_options

    try:
        boards = names(absolute(board, Holds.NAMES, str(base)))
        own = {name: value for name, value in settings.items() if name not in os.environ}
        variables = {**own, **for_loaders(), options.BOARD.name: ",".join(boards)}
        platform = config.getini("fpgart_platform")
        if platform:
            variables[options.PLATFORM.name] = platform
        config.stash[EARLIER] = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        refuse_wrong_options({options.PLATFORM.name: "fpgart_platform"})
    except (options.OptionError, RegistrationError, ValueError) as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[BOARDS] = boards


def _of_project(root: Path) -> dict[str, str]:
    """Returns the variables in the project's fpgart.toml or pyproject.toml; raises UsageError for a wrong file."""
    shared = root / "pyproject.toml"
    if not (root / "fpgart.toml").exists() and not (shared.exists() and b"tool.fpgart" in shared.read_bytes()):
        return {}
    from fpgart.base.config import OptionError
    from fpgart.cli.settings import apply

    found: dict[str, str] = {}
    try:
        apply(found, root)
    except OptionError as error:
        raise pytest.UsageError(str(error)) from None
    return found


def pytest_unconfigure(config: pytest.Config) -> None:
    for name, value in config.stash.get(EARLIER, {}).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def pytest_report_header(config: pytest.Config) -> str | None:
    boards = config.stash.get(BOARDS, ())
    return f"fpgart: {', '.join(boards)}" if boards else None


@pytest.fixture
def fpga(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Simulated boards, reset for each test: fpga.run([...]) for programs, fpga.device for pyopencl."""
    boards = request.config.stash.get(BOARDS, ())
    if not boards:
        pytest.fail(NO_BOARD, pytrace=False)
    from fpgart.testing.bench import Bench, Keep

    traces = request.config.getoption("fpgart_traces")
    keep = Keep(Path(traces), request.node.nodeid) if traces else None
    wanted = keep is not None or "fpga_trace" in request.fixturenames
    bench = Bench(boards, tmp_path_factory.mktemp("fpga"), trace=wanted, keep=keep)
    request.node.stash[BENCH] = bench
    return bench


@pytest.fixture
def fpga_trace(fpga: Bench) -> Traced:
    """The trace of the test so far, in this process and in the programs that it ran."""
    return fpga.traced


@pytest.fixture
def fpga_faults(fpga: Bench) -> BenchFaults:
    """Faults on request: fpga_faults.add("write:fail:nth=3"), in this process and in programs."""
    return fpga.faults


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the report of its traces to a test that failed, and records any exception."""
    report = yield
    bench = item.stash.get(BENCH, None)
    if bench is not None and call.excinfo is not None:
        bench.raised = True
        excerpt = bench.excerpt() if report.failed else ""
        if excerpt:
            report.sections.append(("fpgart report", excerpt))
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Warns, after all fixtures of the test, of objects that it did not release."""
    try:
        result = yield
    finally:
        bench = item.stash.get(BENCH, None)
        if bench is not None:
            bench.close()
    if bench is not None and not bench.raised:
        funcargs: dict[str, Any] = getattr(item, "funcargs", {})
        words = bench.left_behind(funcargs)
        if words:
            from fpgart.testing.bench import warn_of_leak

            warn_of_leak(words, item.name, item.path, (item.location[1] or 0) + 1)
    return result
