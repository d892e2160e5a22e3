# SPDX-License-Identifier: Apache-2.0
"""Queues, commands and user events in C (core/core.h): their order, and which commands wait for which.

C identifies each command of Python's by a number. The driver has a copy of the core, which carries commands too;
without the driver that of `_native` is used, which has no engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Generic, TypeVar

from fpgart._native import ffi as native_ffi
from fpgart._native import lib as native
from fpgart.base import opencl as cl
from fpgart.base.errors import OutOfHostMemory
from fpgart.runtime.scheduling.order import Role

MOST = 64
"""The number of ready commands that are taken at once."""
Decided = TypeVar("Decided")


class Command:
    """A command or a user event."""

    __slots__ = ("_forget", "_lib", "pointer")

    def __init__(self, lib: Any, pointer: Any, forget: Callable[[Any], None] | None = None) -> None:
        """`pointer` comes with a reference. `forget` is set for a user event that only this object can set."""
        self._lib = lib
        self.pointer = pointer
        self._forget = forget

    def __del__(self) -> None:
        if self._forget is not None and self.followers():
            self._forget(self.pointer)
        self._lib.core_release(self.pointer)

    def begin(self) -> None:
        """Sets the status to CL_RUNNING."""
        self._lib.core_begin(self.pointer)

    def set(self, status: int) -> bool:
        """Sets the final status, which ends the waits for the command. Returns False if it had ended before."""
        return bool(self._lib.core_set(self.pointer, status))

    def let_follow(self) -> bool:
        """Lets the commands that follow begin. Returns True if commands are ready to be taken. No lock is held."""
        return bool(self._lib.core_let_follow(self.pointer, True))

    def call_back(self) -> None:
        """Makes the callbacks of a user event that are registered in C, after set(). No lock is held."""
        self._lib.core_call_back(self.pointer)

    def claim(self) -> bool:
        """Claims a user event. Returns True if the caller is the first, and so has to set the status."""
        return bool(self._lib.core_claim(self.pointer))

    def status(self) -> int:
        """Returns the status, which the engine is asked for if it has the command. No lock is held."""
        return int(self._lib.core_status(self.pointer))

    def has_ended(self) -> bool:
        """True if the end is known without asking the engine."""
        return bool(self._lib.core_has_ended(self.pointer))

    def wait(self) -> None:
        """Returns when the command has ended. The caller then takes the commands that are ready. No lock is held."""
        self._lib.core_wait_for_caller(self.pointer)

    def sleepers(self) -> int:
        """Returns the number of threads that sleep until the command has ended."""
        return int(self._lib.core_sleepers(self.pointer))

    def followers(self) -> int:
        """Returns the number of commands that wait for this one."""
        return int(self._lib.core_followers(self.pointer))


class CoreQueue:
    """A command queue."""

    __slots__ = ("_lib", "pointer")

    def __init__(self, lib: Any, pointer: Any) -> None:
        """`pointer` comes with a reference."""
        self._lib = lib
        self.pointer = pointer

    def __del__(self) -> None:
        self._lib.core_queue_release(self.pointer)

    def enqueued(self) -> int:
        """Returns the number of commands that have been put into the queue."""
        return int(self._lib.core_enqueued(self.pointer))


class Core(Generic[Decided]):
    """The commands that one scheduler runs. Its lock is held when they are put into queues or taken."""

    def __init__(self, ffi: Any = native_ffi, lib: Any = native, call: Any = None) -> None:
        """`call`: the C function that is called when a thread in C has made commands ready."""
        self._ffi = ffi
        self._lib = lib
        self.caller = lib.core_caller_new(call or ffi.NULL, ffi.NULL)
        self._numbers = count(1)
        self._known = ffi.new("uintptr_t[]", MOST)
        self._errors = ffi.new("int32_t[]", MOST)
        self._carried = ffi.new("struct core_command **")
        self.commands: dict[int, Decided] = {}
        """The commands that have not ended, by their numbers."""

    def __del__(self) -> None:
        self._lib.core_caller_release(self.caller)

    def in_callback(self) -> bool:
        """True if the calling thread is in a callback that C makes."""
        return bool(self._lib.core_in_callback())

    def queue(self, *, in_order: bool) -> CoreQueue:
        return CoreQueue(self._lib, self._made(self._lib.core_queue_new(self.caller, in_order)))

    def times(self, command: Command) -> tuple[int, int, int, int]:
        """Returns the times at which a carried command was enqueued, submitted, begun and ended. It has ended."""
        found = self._ffi.new("uint64_t[4]")
        self._lib.core_times(command.pointer, found)
        return found[cl.CL_QUEUED], found[cl.CL_SUBMITTED], found[cl.CL_RUNNING], found[cl.CL_COMPLETE]

    def unfinished(self, queue: CoreQueue, last: int) -> tuple[Command, Decided | None] | None:
        """Returns one of the first `last` commands of a queue that has not ended, with Python's object if it has one.

        Returns None if all have ended, and what the carried ones held has been released. No lock is held.
        """
        known = self._ffi.new("uintptr_t *")
        pointer = self._lib.core_unfinished(queue.pointer, last, known)
        return (Command(self._lib, pointer), self.commands.get(known[0])) if pointer else None

    def queue_at(self, pointer: Any) -> CoreQueue:
        """Returns a CoreQueue for a queue that C has made; it has a reference of its own."""
        self._lib.core_queue_retain(pointer)
        return CoreQueue(self._lib, pointer)

    def user_event(self) -> Command:
        return Command(self._lib, self._made(self._lib.core_user_event()), self._forget)

    def command_at(self, address: int, *, is_user_event: bool) -> Command:
        """Returns the object for a command or a user event that C has made."""
        pointer = self._ffi.cast("struct core_command *", address)
        self._lib.core_retain(pointer)
        return Command(self._lib, pointer, self._forget if is_user_event else None)

    def _forget(self, user_event: Any) -> None:
        """Drops the commands that wait for a user event which nothing can set, so that they can be destroyed."""
        known = self._ffi.new("uintptr_t[]", MOST)
        while found := self._lib.core_forget(user_event, MOST, known):
            for index in range(found):
                self.commands.pop(known[index], None)

    def _made(self, pointer: Any) -> Any:
        if not pointer:
            raise OutOfHostMemory("no memory for a command or a queue")
        return pointer

    # With the lock held

    def number(self, decided: Decided) -> int:
        """Returns a new number for a command, by which C identifies it."""
        number = next(self._numbers)
        self.commands[number] = decided
        return number

    def decide(self, queue: CoreQueue, role: Role, number: int, wait_list: Sequence[Command]) -> Command:
        """Puts a command at the end of a queue. The caller then takes the commands that are ready."""
        waits = [command.pointer for command in wait_list] or self._ffi.NULL
        pointer = self._lib.core_decide(queue.pointer, self._role(role), number, len(wait_list), waits)
        return Command(self._lib, self._made(pointer))

    def _role(self, role: Role) -> int:
        lib = self._lib
        return int(lib.CORE_WORK if role is Role.WORK else lib.CORE_MARKER if role is Role.MARKER else lib.CORE_BARRIER)

    def has_ready(self) -> bool:
        """True if commands are ready to be taken."""
        return bool(self._lib.core_has_ready(self.caller))

    def is_at_rest(self) -> bool:
        """True if all commands that have not ended wait for user events. If not, the caller is told when that is so."""
        return bool(self._lib.core_is_at_rest(self.caller))

    def take(self) -> list[tuple[Decided, int]]:
        """Returns the commands that are ready, each with the error that it has to end with, or 0."""
        found: list[tuple[Decided, int]] = []
        taken = MOST
        while taken == MOST:
            taken = self._lib.core_take_ready(self.caller, MOST, self._known, self._errors)
            for index in range(taken):
                found.append((self.commands[self._known[index]], self._errors[index]))
        return found

    def needed(self, command: Command) -> tuple[Decided | None, Command | None]:
        """Returns the command that a waiting thread may run for `command`, or else one to wait for in the engine."""
        known = self._lib.core_needed(command.pointer, self._carried)
        carried = self._carried[0]
        return self.commands.get(known), Command(self._lib, carried) if carried else None

    def awaited(self, command: Command) -> list[Decided]:
        """Returns the commands that a command waits for, 64 at most."""
        known = self._ffi.new("uintptr_t[]", MOST)
        found = (
            self.commands.get(known[index]) for index in range(self._lib.core_awaited(command.pointer, MOST, known))
        )
        return [decided for decided in found if decided is not None]
