# SPDX-License-Identifier: Apache-2.0
"""Injects faults: calls that fail, take longer, or report errors of a board's memory (docs/faults.md).

While there are rules about boards, each device's Mmd and MemorySystem are wrapped; without rules nothing is wrapped, so
that nothing is slower. A call that is to fail is not made: no byte moves, nothing is allocated, no kernel runs. Entry
points ask about calls of the API (startup/call_faults.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from time import monotonic_ns
from typing import TYPE_CHECKING, Protocol

from fpgart._native import ffi
from fpgart.base import log
from fpgart.base.named_tuples import NamedTuple
from fpgart.base.notices import NOTICES
from fpgart.board.fault_rules import Action, Call, Ecc, Rule, parse
from fpgart.board.memory_system import MemoryRange, MemorySystem
from fpgart.board.mmd import Around, BoardError, Mmd

if TYPE_CHECKING:
    from random import Random

TWO_BITS = 0b11
ENDING = (Action.FAIL, Action.HANG)
"""The actions that come last if several faults concern a call."""


class Faultable(Protocol):
    """The members of a device that faults use."""

    id: int
    mmd: Mmd
    memories: MemorySystem
    before_kernel: Callable[[str], None] | None
    """Called with a kernel's name before it runs; may raise BoardError."""

    def bytes_in_use(self) -> int:
        """Returns the number of allocated bytes of the board's memory."""


class Fault:
    """An active rule. `seen` counts the calls that it concerned, `injected` those of them that it changed."""

    __slots__ = ("_random", "injected", "rule", "seen")

    def __init__(self, rule: Rule, random: Random) -> None:
        """`random` is the fault's own, so that its effect on its n-th call depends on nothing else."""
        self.rule = rule
        self.seen = 0
        self.injected = 0
        self._random = random

    def __repr__(self) -> str:
        return f"<Fault {self.rule.text!r}: {self.injected} of {self.seen}>"

    def is_about(self, call: Call, device: int, size: int, name: str, total: int) -> bool:
        rule = self.rule
        return (
            call in rule.calls
            and rule.device in (None, device)
            and size >= rule.size
            and rule.name in ("", name)
            and (not rule.total or total > rule.total)
        )

    @property
    def is_of_the_api(self) -> bool:
        return Call.API in self.rule.calls

    def is_about_function(self, function: str, thread: int) -> bool:
        rule = self.rule
        of_function = not rule.functions or function in rule.functions
        return self.is_of_the_api and of_function and rule.thread in (None, thread)

    def strikes(self) -> bool:
        """Counts one more call. Returns True if the fault changes it. Threads call it one at a time."""
        rule = self.rule
        self.seen += 1
        if rule.times and self.injected >= rule.times:
            return False
        if rule.nth:
            chosen = self.seen == rule.nth
        elif rule.every:
            chosen = self.seen % rule.every == 0
        else:
            chosen = not rule.fraction or self._random.random() < rule.fraction
        self.injected += chosen
        return chosen

    def draw(self) -> float:
        """Returns a random number from 0 up to 1."""
        return self._random.random()


class EccError(NamedTuple):
    """An ECC error: its kind, and its place in the bytes that moved, from 0 up to 1."""

    kind: Ecc
    place: float


class Faults:
    """The active faults of some devices. Any thread may call the methods."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # destructors that Python's collector runs may call this class, too
        self._faults: tuple[Fault, ...] = ()
        self._devices: list[Faultable] = []
        self._wrapped: list[tuple[Faultable, Mmd, MemorySystem]] = []
        self._over = threading.Event()
        self._injected = 0
        self.api_asks: Callable[[bool], None] = _ignore
        """Called with True if entry points have to ask about each call of the API, else with False."""

    @property
    def active(self) -> tuple[Fault, ...]:
        return self._faults

    @property
    def injected(self) -> int:
        """The number of calls that were changed since the last clear()."""
        return self._injected

    def attach(self, device: Faultable) -> None:
        with self._lock:
            self._devices.append(device)
            if self._are_on_boards():
                self._wrap(device)

    def detach(self, device: Faultable) -> None:
        with self._lock:
            self._devices.remove(device)
            for wrapped in [each for each in self._wrapped if each[0] is device]:
                self._wrapped.remove(wrapped)
                self._restore(*wrapped)

    def add(self, text: str) -> tuple[Fault, ...]:
        """Activates the rules of a text beside those that are active. Raises FaultSyntaxError."""
        from random import Random  # few hosts use faults

        plan = parse(text)
        made = tuple(Fault(rule, Random(f"{plan.seed} {rule.text}")) for rule in plan.rules)
        with self._lock:
            wraps = not self._are_on_boards()
            self._faults += made
            for device in self._devices if wraps and self._are_on_boards() else ():
                self._wrap(device)
            self.api_asks(self._are_in_the_api())
        return made

    def remove(self, faults: tuple[Fault, ...]) -> None:
        """Deactivates some faults. Their delays and hangs end at once."""
        with self._lock:
            self._faults = tuple(fault for fault in self._faults if fault not in faults)
            self._over.set()
            self._over = threading.Event()
            if not self._are_on_boards():
                self._unwrap()
            self.api_asks(self._are_in_the_api())

    def clear(self) -> None:
        """Deactivates all faults and resets the counter."""
        self.remove(self._faults)
        self._injected = 0

    def end(self) -> None:
        """Ends delays and hangs, as the process exits."""
        with self._lock:
            self._over.set()

    def _are_on_boards(self) -> bool:
        return not all(fault.is_of_the_api for fault in self._faults)

    def _are_in_the_api(self) -> bool:
        return any(fault.is_of_the_api for fault in self._faults)

    def _wrap(self, device: Faultable) -> None:
        mmd, memories = device.mmd, device.memories
        self._wrapped.append((device, mmd, memories))
        device.mmd = FaultyMmd(mmd, device, self)
        device.memories = FaultyMemories(memories, device, self)
        device.before_kernel = partial(self._before_kernel, device)

    def _unwrap(self) -> None:
        for wrapped in self._wrapped:
            self._restore(*wrapped)
        self._wrapped.clear()

    @staticmethod
    def _restore(device: Faultable, mmd: Mmd, memories: MemorySystem) -> None:
        device.mmd, device.memories, device.before_kernel = mmd, memories, None

    # Calls

    def strike_function(self, function: str, thread: int) -> Fault | None:
        """Returns the fault that a call of the API has; None if the call is carried out."""
        with self._lock:
            about = [fault for fault in self._faults if fault.is_about_function(function, thread)]
            struck = [fault for fault in about if fault.strikes()]
            self._injected += len(struck)
        for fault in struck[:1]:
            for listener in NOTICES.fault_injected:
                listener(None, function, fault.rule.text, monotonic_ns())
            return fault
        return None

    def strike(self, call: Call, device: Faultable, size: int = 0, name: str = "") -> tuple[EccError, ...]:
        """Applies the rules to a call that is about to be made.

        Returns the memory errors that the call has to have. Raises BoardError for a call that fails.
        """
        total = size + device.bytes_in_use() if call is Call.ALLOC else 0
        with self._lock:
            about = [fault for fault in self._faults if fault.is_about(call, device.id, size, name, total)]
            struck = [fault for fault in about if fault.strikes()]
            self._injected += len(struck)
            errors = tuple(EccError(f.rule.ecc, f.draw()) for f in struck if f.rule.ecc is not None)
            over = self._over
        for fault in sorted(struck, key=lambda fault: fault.rule.action in ENDING):
            self._apply(fault.rule, call, device, name, over)
        return errors

    def _apply(self, rule: Rule, call: Call, device: Faultable, name: str, over: threading.Event) -> None:
        begin = monotonic_ns()
        log.note(f"fault '{rule.text}': {in_words(call, name)} on device {device.id}")
        if rule.action is Action.DELAY:
            over.wait(rule.delay)
        elif rule.action is Action.HANG:
            over.wait(rule.limit)
        for listener in NOTICES.fault_injected:
            listener(device.id, call.value, rule.text, begin)
        if rule.action is Action.HANG:
            raise BoardError(
                f"{in_words(call, name)} hung on device {device.id} and was stopped after {rule.limit:g} s, "
                f"as the fault '{rule.text}' asks for"
            )
        if rule.action is Action.FAIL:
            raise BoardError(
                f"{in_words(call, name)} failed on device {device.id}, as the fault '{rule.text}' asks for"
            )

    def _before_kernel(self, device: Faultable, name: str) -> None:
        for error in self.strike(Call.KERNEL, device, name=name):
            device.mmd.device_interrupt(error.kind)


def _ignore(asks: bool) -> None:
    """Does nothing: without the driver there are no calls of the API."""


def in_words(call: Call, name: str) -> str:
    if call is Call.KERNEL:
        return f"kernel '{name}'"
    return "claiming memory" if call is Call.ALLOC else f"aocl_mmd_{call.value}"


class FaultyMmd(Around):
    """An Mmd to whose calls the faults apply."""

    def __init__(self, mmd: Mmd, device: Faultable, faults: Faults) -> None:
        super().__init__(mmd)
        self._device = device
        self._faults = faults
        self.free = mmd.free

    def open(self) -> None:
        self._strike(Call.OPEN)
        self._mmd.open()

    def write(self, host: int, board: int, size: int) -> None:
        errors = self._strike(Call.WRITE, size)
        self._mmd.write(host, board, size)
        if errors:
            self._tell(errors, self._mmd.aperture(board), size)

    def read(self, board: int, host: int, size: int) -> None:
        errors = self._strike(Call.READ, size)
        self._mmd.read(board, host, size)
        if errors:
            self._tell(errors, host, size)

    def copy(self, source: int, destination: int, size: int) -> None:
        errors = self._strike(Call.COPY, size)
        self._mmd.copy(source, destination, size)
        if errors:
            self._tell(errors, self._mmd.aperture(destination), size)

    def program(self, image: bytes, *, preserve: bool = True) -> None:
        self._strike(Call.PROGRAM)
        self._mmd.program(image, preserve=preserve)

    def host_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        return self._mmd.host_alloc(size, alignment, given) if self._has_memory(Call.HOST_ALLOC, size) else 0

    def shared_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        return self._mmd.shared_alloc(size, alignment, given) if self._has_memory(Call.SHARED_ALLOC, size) else 0

    def _strike(self, call: Call, size: int = 0) -> tuple[EccError, ...]:
        return self._faults.strike(call, self._device, size)

    def _has_memory(self, call: Call, size: int) -> bool:
        """True if the allocation may go on. The call has no other way to fail than returning 0."""
        try:
            self._strike(call, size)
        except BoardError:
            return False
        return True

    def _tell(self, errors: tuple[EccError, ...], begin: int, size: int) -> None:
        """Reports errors in `size` bytes at `begin` to the host. An error that is not correctable changes two bits."""
        for error in errors:
            if error.kind is Ecc.NON_CORRECTABLE:
                ffi.cast("unsigned char *", begin)[int(error.place * size)] ^= TWO_BITS
            self.device_interrupt(error.kind)


class FaultyMemories:
    """A MemorySystem whose allocations may fail by a fault."""

    def __init__(self, memories: MemorySystem, device: Faultable, faults: Faults) -> None:
        self._memories = memories
        self._device = device
        self._faults = faults
        self.free, self.memory_for, self.name_of = memories.free, memories.memory_for, memories.name_of
        self.banks_of, self.default_memory = memories.banks_of, memories.default_memory
        self.show, self.largest_allocation = memories.show, memories.largest_allocation
        self.keeps_programs, self.allocate_program = memories.keeps_programs, memories.allocate_program
        self.is_mapped = memories.is_mapped

    def default_heap(self) -> None:
        """Returns None: each allocation may fail."""

    def allocate(self, size: int, memory: int | None = None, bank: int = 0) -> MemoryRange | None:
        try:
            self._faults.strike(Call.ALLOC, self._device, size)
        except BoardError:
            return None
        return self._memories.allocate(size, memory, bank)


FAULTS = Faults()
"""The faults of the process's platform."""
