# SPDX-License-Identifier: Apache-2.0
"""Random calls of every entry point: with arguments that are right, that are all wrong, and with some of both.

    python conformance/fuzz_calls.py fpgart/libfpgart.so --calls 100000 --seed 1

What hosts have to take care of themselves is right: pointers lead to memory, strings end, callbacks can be called,
kernels stay within their buffers. Everything else has to be answered: handles of another kind, released ones, numbers
that were never one, NULL, any flags and counts. Each entry point is first called with each kind of arguments, then
they are drawn. At the end it says how many were called with each kind, and which never answered CL_SUCCESS. The exit
status is 1 for one that was not called with each kind; a crash or a hang (--patience) ends the process, and --verbose
shows the last call. A seed repeats the calls; the last line is a sum of them and of what they answered.
"""

from __future__ import annotations

import argparse
import ctypes
import enum
import faulthandler
import random
import re
import sys
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "icd" / "entry"))

from prototypes import Prototype, read_api  # noqa: E402

SCRATCH = 1 << 20
"""Bytes behind every pointer to data; sizes are much smaller."""
NUMBERS = (0, 1, 2, 3, 4, 7, 8, 16, 64, 100, 1024, 4096)
DRAWN = 16
"""Elements of an array that are drawn; then they repeat."""
WILD = (1 << 31, (1 << 32) - 1, 1 << 32, 1 << 62, (1 << 64) - 1)
GARBAGE = (1, 0x1000, 0xDEADBEEF, (1 << 63) + 8)
SOURCE = b"kernel void k(global int *a, int n, local int *t) { } kernel void none(void) { }"
KINDS = ("platform_id", "device_id", "context", "command_queue", "mem", "program", "kernel", "event", "sampler")
RENEWED = 400
"""Calls after which everything is made anew: random calls release it all sooner or later."""
NAMES_OF_SIZES = re.compile("size|offset|pitch|length|cb|width|height|depth|count|num|align")
LEFT_OUT = {"clEnqueueNativeKernel": "it calls what it is given", "clGetGLContextInfoKHR": "it needs GL"}
QUERIES_OF = {"clGetPlatformInfo": 0x0900, "clGetDeviceInfo": 0x1020, "clGetContextInfo": 0x1080,
              "clGetCommandQueueInfo": 0x1090, "clGetMemObjectInfo": 0x1100, "clGetProgramInfo": 0x1160,
              "clGetProgramBuildInfo": 0x1181, "clGetKernelInfo": 0x1190, "clGetKernelArgInfo": 0x1196,
              "clGetKernelWorkGroupInfo": 0x11B0, "clGetEventInfo": 0x11D0, "clGetEventProfilingInfo": 0x1280,
              "clGetMemAllocInfoINTEL": 0x419A, "clSetKernelExecInfo": 0x4200}  # fmt: skip
"""Where the numbers of queries begin."""
QUERIES = (*QUERIES_OF.values(), 0x1000, 0x1030, 0x10A0, 0x1170, 0x11B8, 0x2033)
MEANT = (0, 1, 2, 4, 8, 0x14, 0xFFFFFFFF)
"""Flags and types that many functions know."""
ENDING = re.compile("Release|Free|Terminate|Unload")
ENDS = 0.1
"""How many of the calls that end something are made."""
FREES = {"clMemFreeINTEL", "clMemBlockingFreeINTEL", "clSVMFree", "clEnqueueSVMFree"}
HELD = 1000
"""References to a context, so that calls do not end it: with it go allocations whose pointers are passed."""


class Kind(enum.Enum):
    """Of the arguments of a call."""

    RIGHT = "right"
    """Each handle is of its kind and no pointer is NULL; numbers are any."""
    SOME = "some right"
    GARBAGE = "garbage"
    """No handle is of its kind, half of the pointers are NULL, flags and names are numbers that mean nothing."""


WRONG_HANDLES = {Kind.RIGHT: 0.0, Kind.SOME: 0.14, Kind.GARBAGE: 1.0}
NO_POINTERS = {Kind.RIGHT: 0.0, Kind.SOME: 0.2, Kind.GARBAGE: 0.5}


class Calls:
    """The driver, and what it has given so far by kind."""

    def __init__(self, library: str, seed: int) -> None:
        self.library = ctypes.CDLL(library)
        self.chance = random.Random(seed)
        self.scratch = ctypes.create_string_buffer(SCRATCH)
        self.pool: dict[str, list[int]] = {}
        self.kind = Kind.SOME
        """What the arguments are to be."""
        self.called: Counter[tuple[str, Kind]] = Counter()
        self.sum = sha256()
        self.right: Counter[str] = Counter()
        self.kept: list[object] = []
        self.callback = ctypes.CFUNCTYPE(None)(lambda: None)
        self.status = ctypes.c_int32()
        self.functions = {name: f for name, f in read_api(ROOT / "include").functions.items() if name not in LEFT_OUT}
        self.addresses = {name: found for name in self.functions if (found := self.address(name))}

    def address(self, name: str) -> Callable[..., int] | None:
        """The function, among the library's symbols or as an extension's."""
        look_up = self.library.clGetExtensionFunctionAddressForPlatform
        look_up.restype = ctypes.c_void_p
        platform = ctypes.c_void_p()
        self.library.clGetPlatformIDs(1, ctypes.byref(platform), None)
        found = getattr(self.library, name, None)
        address = ctypes.cast(found, ctypes.c_void_p).value if found else look_up(platform, name.encode())
        return ctypes.CFUNCTYPE(ctypes.c_uint64)(address) if address else None

    def call(self, name: str, *arguments: int) -> int:
        """Call with any number of words; returns the result's 64 bits."""
        address = ctypes.cast(self.addresses[name], ctypes.c_void_p).value
        assert address is not None
        function = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * len(arguments))(address)
        return int(function(*(argument & (1 << 64) - 1 for argument in arguments)))

    # What calls are made with

    def pointer(self, value: object) -> int:
        self.kept.append(value)
        return ctypes.addressof(value)  # type: ignore[arg-type]

    def words(self, *values: int) -> int:
        return self.pointer((ctypes.c_uint64 * max(len(values), 1))(*(value & (1 << 64) - 1 for value in values)))

    def row(self, drawn: Callable[[], int]) -> int:
        """As many as a number can be, some of them drawn."""
        return self.words(*[drawn() for _ in range(DRAWN)] * (max(NUMBERS) // DRAWN))

    def data(self) -> int:
        return ctypes.addressof(self.scratch)

    def begin(self) -> None:
        """One of everything, in a context of its own."""
        self.kept.clear()
        self.pool = {kind: [] for kind in KINDS}
        out = self.words(0)

        def made(kind: str, handle: int) -> int:
            self.pool[kind].append(handle)
            return handle

        def value() -> int:
            return ctypes.c_uint64.from_address(out).value

        self.call("clGetPlatformIDs", 1, out, 0)
        platform = made("platform_id", value())
        self.call("clGetDeviceIDs", platform, 0xFFFFFFFF, 1, out, 0)
        device = made("device_id", value())
        context = made("context", self.call("clCreateContext", 0, 1, self.words(device), 0, 0, 0))
        for _ in range(HELD):
            self.call("clRetainContext", context)
        for flags in (0, 1, 2):
            properties = self.words(0x1093, flags, 0)
            made("command_queue", self.call("clCreateCommandQueueWithProperties", context, device, properties, 0))
        for size in (64, 4096, 65536):
            made("mem", self.call("clCreateBuffer", context, 1, size, 0, 0))
        text = self.words(self.pointer(ctypes.create_string_buffer(SOURCE)))
        program = made("program", self.call("clCreateProgramWithSource", context, 1, text, 0, 0))
        self.call("clBuildProgram", program, 0, 0, 0, 0, 0)
        for kernel in (b"k", b"none"):
            name = self.pointer(ctypes.create_string_buffer(kernel))
            made("kernel", self.call("clCreateKernel", program, name, 0))
        for queue in self.pool["command_queue"]:
            self.call("clEnqueueMarkerWithWaitList", queue, 0, 0, out)
            made("event", value())
        self.pool["pointer"] = []
        for name in ("clDeviceMemAllocINTEL", "clSharedMemAllocINTEL"):
            if name in self.addresses:
                made("pointer", self.call(name, context, device, 0, 4096, 0, 0))
        made("pointer", self.call("clSVMAlloc", context, 1, 4096, 0))

    def end(self) -> None:
        """Nothing may be under way when memory that commands use goes."""
        self.end_user_events()
        for queue in self.pool["command_queue"]:
            self.call("clFinish", queue)

    def end_user_events(self) -> None:
        """What waits for one that nobody has any more would wait for ever."""
        for event in self.pool["event"]:
            self.call("clSetUserEventStatus", event, 0)

    def handle(self, kind: str) -> int:
        if self.pool.get(kind) and self.chance.random() >= WRONG_HANDLES[self.kind]:
            return self.chance.choice(self.pool[kind])
        if self.chance.random() < 0.4:
            return self.chance.choice(self.pool[self.chance.choice([other for other in KINDS if other != kind])] or [0])
        return self.chance.choice((0, *GARBAGE))

    def argument(self, function: Prototype, index: int) -> int:
        parameter = function.parameters[index]
        name, kind = parameter.name, parameter.python_type
        declared = re.search(rf"cl_(\w+)\s+(\*?)\s*(?:const\s+)?{name}\b", function.declaration)
        if name == "errcode_ret":
            self.status.value = 77
            return ctypes.addressof(self.status) if self.chance.random() >= NO_POINTERS[self.kind] / 4 else 0
        if declared and declared[1] in KINDS:
            return self.handles(declared[1], name) if declared[2] else self.handle(declared[1])
        if "pfn" in name or re.search(rf"\*\s*{name}\)\s*\(", function.declaration):
            return self.chance.choice((0, ctypes.cast(self.callback, ctypes.c_void_p).value or 0))
        if kind.endswith("*") or re.search(rf"\*\s*(?:const\s+)?{name}\b", function.declaration):
            return self.memory(function, name)
        if "blocking" in name:
            return self.chance.randrange(2)
        names_one = "name" in name or "type" in name or "flags" in name or "properties" in name
        if names_one and self.kind is Kind.GARBAGE:
            return self.chance.choice(WILD)
        if names_one and self.kind is Kind.RIGHT:
            begin = QUERIES_OF.get(function.name)
            return self.chance.choice(MEANT) if begin is None else begin + self.chance.randrange(6)
        if names_one:
            return self.chance.choice(
                (0, 1, 4, 1 << 63, *[self.chance.choice(QUERIES) + self.chance.randrange(12)] * 6)
            )
        if NAMES_OF_SIZES.search(name) or kind == "size_t":
            return self.chance.choice(NUMBERS)
        return self.chance.choice((*NUMBERS, *WILD)) if self.chance.random() < 0.3 else self.chance.choice(NUMBERS)

    def handles(self, kind: str, name: str) -> int:
        """A list, or room for one, which is as long as any number that goes with it."""
        if self.chance.random() < NO_POINTERS[self.kind]:
            return 0
        return self.row(lambda: self.handle(kind))

    def memory(self, function: Prototype, name: str) -> int:
        if self.chance.random() < NO_POINTERS[self.kind]:
            return 0
        dice = self.chance.random()
        if name == "svm_pointers":
            return self.words(*self.pool["pointer"], *[0] * max(NUMBERS))
        if re.search(rf"\*\s*(?:const\s*)?\*\s*{name}\b", function.declaration):
            texts = self.pointer(ctypes.create_string_buffer(SOURCE))
            return self.words(*[texts] * max(NUMBERS))
        if "properties" in name:
            return self.words(self.chance.choice((0, 0x1093, 0x1084)), self.chance.choice((0, 1, 2, 3)), 0)
        if "ptr" in name.lower() and self.pool["pointer"] and dice < 0.7:
            return self.chance.choice(self.pool["pointer"])
        if any(word in name for word in ("size", "origin", "region", "offset", "lengths")):
            return self.row(lambda: self.chance.choice(NUMBERS[:8]))
        if any(word in name for word in ("name", "options")):
            words = (b"", b"k", b"-DA=1", b"-cl-std=CL2.0", b"clFinish", b"\xff\xfe", b"x" * 300)
            return self.pointer(ctypes.create_string_buffer(self.chance.choice(words)))
        return self.data()

    # Calls

    def step(self, name: str, kind: Kind) -> None:
        self.kind = kind
        function = self.functions[name]
        arguments = [self.argument(function, index) for index in range(len(function.parameters))]
        if name in ("clWaitForEvents", "clFinish", "clReleaseEvent") or "locking" in function.declaration:
            self.end_user_events()
        if name in FREES:
            self.end()
        if self.verbose:
            sys.stderr.write(f"{name}({', '.join(map(hex, arguments))})\n")
        result = self.call(name, *arguments)
        if name in FREES:
            gone = self.pool["pointer"] if name == "clEnqueueSVMFree" else arguments
            self.pool["pointer"] = [each for each in self.pool["pointer"] if each not in gone]
        self.called[name, kind] += 1
        before = self.right[name]
        if function.returns_object:
            self.took_object(function, result)
        elif ctypes.c_int32(result & 0xFFFFFFFF).value == 0:
            self.right[name] += 1
        self.sum.update(f"{name} {kind.name} {self.right[name] - before}\n".encode())

    verbose = False

    def took_object(self, function: Prototype, result: int) -> None:
        if not result:
            return
        self.right[function.name] += 1
        kind = function.returns.removeprefix("cl_").strip()
        if kind in KINDS and len(self.pool[kind]) < 12:
            self.pool[kind].append(result)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("driver", metavar="DRIVER.so")
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", type=int, default=120, help="seconds for all of it")
    parser.add_argument("--verbose", action="store_true", help="say each call on standard error")
    asked = parser.parse_args()
    faulthandler.enable()
    faulthandler.dump_traceback_later(asked.patience, exit=True)
    calls = Calls(asked.driver, asked.seed)
    calls.verbose = asked.verbose
    names = sorted(calls.addresses)
    gentle = [name for name in names if not ENDING.search(name)]
    for number in range(asked.calls):
        if number % RENEWED == 0:
            if number:
                calls.end()
            calls.begin()
        if number < len(Kind) * len(names):
            calls.step(names[number % len(names)], list(Kind)[number // len(names)])
        else:
            name = calls.chance.choice(names if calls.chance.random() < ENDS else gentle)
            calls.step(name, calls.chance.choice(list(Kind)))
    calls.end()
    return told(calls, names)


def told(calls: Calls, names: list[str]) -> int:
    """Print what was called; the exit status."""
    print(
        f"{calls.called.total()} calls of {len(names)} entry points, {calls.right.total()} of them answered CL_SUCCESS"
    )
    lacks = False
    for kind in Kind:
        missing = [name for name in names if not calls.called[name, kind]]
        count = sum(calls.called[name, kind] for name in names)
        print(f"arguments {kind.value}: {count} calls; not called: {', '.join(missing) or 'none'}")
        lacks |= bool(missing)
    print(f"never answered CL_SUCCESS: {', '.join(sorted(set(names) - set(calls.right))) or 'none'}")
    print(f"left out: {', '.join(f'{name} ({why})' for name, why in LEFT_OUT.items())}")
    print(f"sum: {calls.sum.hexdigest()[:16]}")
    return int(lacks)


if __name__ == "__main__":
    sys.exit(main())
