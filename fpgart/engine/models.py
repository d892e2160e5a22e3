# SPDX-License-Identifier: Apache-2.0
"""Kernels that are Python functions: for programs without source, and as doubles in tests.

    import fpgart

    @fpgart.kernel("vadd")
    def vadd(a, b, c, n):
        c[:n] = a[:n] + b[:n]

A pointer becomes a numpy array of the argument's type, from where it points to the end of its buffer or
allocation; a local argument an array of its bytes; a value a numpy scalar (bytes for structures). A parameter
named `nd_range` gets offset, global and local size. Models are found through FPGART_MODELS (modules, or paths of
.py files) and through the entry point group `fpgart.models`.

Models are functions of the host. In a host that is written in Python the driver has an interpreter of its own, so it
asks this module of the host's interpreter if there is a model, and runs it there.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any

from fpgart.base import config, log
from fpgart.base.closed_memory import driver_address
from fpgart.base.errors import InvalidOperation, OutOfResources
from fpgart.base.named_tuples import NamedTuple
from fpgart.engine.interface import ARGUMENT, BYTES, LOCAL, NULL, SIZES, KernelLaunch, Plugs, no_plugs
from fpgart.kernels.interface import KernelInterface
from fpgart.kernels.opencl_c import size_of_type

if TYPE_CHECKING:
    from fpgart.engine.mirrors import Mirrors

GROUP = "fpgart.models"
DTYPES = {"char": "i1", "short": "i2", "int": "i4", "long": "i8", "half": "f2", "float": "f4", "double": "f8"}
DTYPES |= {f"u{name}": f"u{code[1]}" for name, code in DTYPES.items() if code[0] == "i"}

Model = Callable[..., None]


class NDRange(NamedTuple):
    """The ND-range of a launch: a number per dimension each; the local size is empty if none was given."""

    offset: tuple[int, ...]
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]


class ModelCall(NamedTuple):
    """A launch of a model: the arguments' types and image, and the ends of the memory that its pointers reach."""

    name: str
    types: tuple[str, ...]
    image: bytes
    ends: tuple[int, ...]
    nd_range: NDRange


AskHost = Callable[[str, bytes], "bytes | None"]
"""Calls a function of this module in the host's interpreter; None if it raised an exception."""

_MODELS: dict[str, Model] = {}
_loading = threading.Lock()
_loaded = False
_ask_host: AskHost | None = None


def kernel(name: str) -> Callable[[Model], Model]:
    """Registers the decorated function as the model of the kernel with that name."""

    def register(function: Model) -> Model:
        _MODELS[name] = function
        return function

    return register


def live_in_host(ask: AskHost) -> None:
    """Selects the models of another interpreter, which `ask` calls."""
    global _ask_host
    _ask_host = ask


def has_model(name: str) -> bool:
    if _ask_host is not None:
        return bool(_ask_host("answer_has_model", name.encode()))
    if not _loaded:
        load()
    return name in _MODELS


def answer_has_model(name: bytes) -> bytes:
    """Answers has_model() for the other interpreter."""
    return b"yes" if has_model(name.decode()) else b""


def run(call: ModelCall) -> None:
    """Runs the model of a kernel that has one; raises its exceptions."""
    if _ask_host is not None:
        import pickle

        failure = _ask_host("answer_run", pickle.dumps(call))
        if failure is None or failure:
            raise ModelFailed((failure or b"it cannot be called").decode(errors="replace"))
        return
    model = _MODELS[call.name]
    arguments = [_argument(index, call) for index in range(len(call.types))]
    from inspect import signature

    if "nd_range" in signature(model).parameters:
        model(*arguments, nd_range=call.nd_range)
    else:
        model(*arguments)


def answer_run(call: bytes) -> bytes:
    """Answers run() for the other interpreter: the traceback of the model's exception, "" for success."""
    import pickle
    import traceback

    try:
        run(pickle.loads(call))
    except BaseException:
        return traceback.format_exc().encode()
    return b""


class ModelFailed(Exception):
    """Raised if a model raised an exception; its traceback in words."""


@cache
def are_wanted() -> bool:
    """True if FPGART_MODELS or an entry point names models."""
    return bool(config.MODELS.value) or bool(entry_points())


def entry_points() -> list[str]:
    """Returns the modules that installed packages name as models.

    The library that reads packages' metadata takes longer to import than everything else that a first kernel needs. So
    it is used only if a package names the group at all, or might in an archive.
    """
    if not any(map(_may_name_models, sys.path)):
        return []
    from importlib import metadata

    return [entry.value for entry in metadata.entry_points(group=GROUP)]


def _may_name_models(place: str) -> bool:
    if not os.path.isdir(place or os.curdir):
        return os.path.exists(place)
    try:
        names = os.listdir(place or os.curdir)
    except OSError:  # nothing can be imported from it either
        return False
    return any(
        name.endswith(".egg") or _names_models(os.path.join(place, name, "entry_points.txt"))
        for name in names
        if name.endswith((".dist-info", ".egg-info", ".egg"))
    )


def _names_models(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return GROUP.encode() in file.read()
    except OSError:  # most packages have none
        return False


def load() -> None:
    """Imports the modules that FPGART_MODELS and the entry points name, once. Errors are logged."""
    global _loaded
    with _loading:
        if _loaded:
            return
        if are_wanted():
            for name in config.MODELS.value:
                _import(name)
            for value in entry_points():
                _import(value.partition(":")[0])
        _loaded = True


def _import(name: str) -> None:
    import importlib.util  # as few hosts have models
    from pathlib import Path

    try:
        if name.endswith(".py"):
            spec = importlib.util.spec_from_file_location(Path(name).stem, name)
            assert spec is not None
            assert spec.loader is not None
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
        else:
            importlib.import_module(name)
    except Exception as error:
        log.warning(f"FPGART_MODELS: {name} cannot be loaded: {type(error).__name__}: {error}")


def _argument(index: int, call: ModelCall) -> Any:
    import ctypes  # as few hosts run models

    import numpy as np  # costs 80 ms

    kind, size, value = ARGUMENT.unpack_from(call.image, ARGUMENT.size * index)
    name = call.types[index]
    base = DTYPES.get(name.rstrip("*").rstrip("0123456789"), "u1")
    if kind == NULL:
        return None
    if kind == LOCAL:
        return np.zeros(size // np.dtype(base).itemsize, base)
    if kind == BYTES:
        data = call.image[value : value + size]
        known = size_of_type(name)
        if not known:
            return data
        numbers = np.frombuffer(data, base)
        return numbers[0] if len(numbers) == 1 else numbers
    behind = max(call.ends[index] - value, 0)
    extent = behind // np.dtype(base).itemsize * np.dtype(base).itemsize
    memory: Any = (ctypes.c_char * extent).from_address(driver_address(value))
    return np.frombuffer(memory, base)


class ModelKernel:
    """An `EngineKernel` that calls a Python function, or fails with the message that there is none.

    `sizes`: bytes of the arguments passed by value, as far as they are known. `mirrors`: the engine's copies of boards'
    memory that the function has to see.
    """

    launched = True
    compile_ns = 0
    carried = 0
    wants_reaches = True
    waits_for_others = False

    def __init__(self, interface: KernelInterface, has_model: bool, sizes: dict[int, int] | None = None) -> None:
        self.interface = interface
        self.has_model = has_model
        self.sizes = sizes or {}
        self.mirrors: Mirrors | None = None

    def accepts(self, index: int, size: int) -> bool:
        known = self.sizes.get(index) or size_of_type(self.interface.arguments[index].type_name)
        return not known or size == known

    def work_group_info(self, query: int) -> bytes:
        return b""

    def sub_group_info(self, query: int, sizes: tuple[int, ...], length: int) -> bytes:
        return b""

    def suggested_local_size(
        self, arguments: Sequence[tuple[int, bytes | None]], offset: tuple[int, ...], sizes: tuple[int, ...]
    ) -> tuple[int, ...]:
        raise InvalidOperation(f"kernel '{self.interface.name}' runs as a Python model, which has no work-groups")

    def on_own_thread(self) -> ModelKernel:
        return self

    def launch(self, launch: KernelLaunch) -> None:
        """Runs the model; its exceptions end the command with CL_OUT_OF_RESOURCES and a traceback in the log."""
        if not self.has_model:
            raise OutOfResources(
                f"kernel '{self.interface.name}' is a real board's and has no Python model: write a function "
                f'with @fpgart.kernel("{self.interface.name}") and name its module in FPGART_MODELS'
            )
        types = tuple(argument.type_name for argument in self.interface.arguments)
        ends = tuple(reach.end for reach in launch.reaches)
        resident = [(reach.address, reach.end) for reach in launch.reaches if reach.resident]
        with self.mirrors.used_by_host(resident) if self.mirrors is not None else nullcontext():
            run(ModelCall(self.interface.name, types, launch.image, ends, _nd_range(launch)))


def _nd_range(launch: KernelLaunch) -> NDRange:
    numbers, dimensions = SIZES.unpack(launch.sizes), launch.dimensions
    local = numbers[6 : 6 + dimensions] if launch.has_local else ()
    return NDRange(numbers[:dimensions], numbers[3 : 3 + dimensions], local)


class ModelProgram:
    """A `BuiltProgram` of which only the kernels' interfaces are known."""

    def __init__(self, interfaces: dict[str, KernelInterface], sizes: dict[str, dict[int, int]]) -> None:
        self.interfaces = interfaces
        self.sizes = sizes

    def build(self, options: str) -> str:
        return ""

    def compile(self, options: str, headers: dict[str, Any]) -> str:
        return ""

    def kernels(self, known: Mapping[str, KernelInterface]) -> dict[str, KernelInterface]:
        return self.interfaces

    def kernel(self, name: str) -> ModelKernel:
        return ModelKernel(self.interfaces[name], has_model(name), self.sizes.get(name, {}))

    def binary(self) -> bytes:
        return b""

    def specialize(self, id: int, value: bytes) -> None:
        raise OutOfResources("a real board's program has no specialisation constants")

    def network(self, plugs: Plugs = no_plugs) -> None:
        return None
