# SPDX-License-Identifier: Apache-2.0
"""Unified shared memory (family usm): pointers that a command may not be given, use after free, leaks.

fpgart/check/pages/protection.py finds accesses without a command, and those of kernels.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from weakref import WeakSet

from fpgart.check.findings import CheckPart, Finding, Findings
from fpgart.check.words import allocation_maker, allocation_name, command, context_of
from fpgart.engine.interface import POINTER
from fpgart.runtime.commands.access import AccessMode, MemoryAccess
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.operation import operation_of
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.usm import Kind, UsmAllocation, supports
from fpgart.runtime.objects.blocking_free import uses
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.scheduling.event import COMPLETE, Event
from fpgart.watch.callers import Site

MOST_FREED = 4096
NOT_FREED = "free it with clMemFreeINTEL or clMemBlockingFreeINTEL (in SYCL, sycl::free) before the context is released"


@dataclass(frozen=True, slots=True)
class _Freed:
    begin: int
    end: int
    name: str
    maker: str
    made_at: Site | None


class FreedAllocations:
    """The addresses of freed allocations, until the memory is allocated again."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._freed: dict[int, _Freed] = {}

    def add(self, freed: _Freed) -> None:
        self.forget(freed.begin, freed.end)
        insort(self._begins, freed.begin)
        self._freed[freed.begin] = freed
        while len(self._freed) > MOST_FREED:
            self._remove(next(iter(self._freed)))

    def forget(self, begin: int, end: int) -> None:
        """Removes addresses that have been allocated again."""
        index = max(0, bisect_right(self._begins, begin) - 1)
        while index < len(self._begins) and self._begins[index] < end:
            if self._freed[self._begins[index]].end > begin:
                self._remove(self._begins[index])
            else:
                index += 1

    def _remove(self, begin: int) -> None:
        if self._freed.pop(begin, None) is not None:
            del self._begins[bisect_right(self._begins, begin) - 1]

    def find(self, pointer: int) -> _Freed | None:
        index = bisect_right(self._begins, pointer) - 1
        if index < 0:
            return None
        freed = self._freed[self._begins[index]]
        return freed if pointer < freed.end else None


class Usm(CheckPart):
    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._alive: dict[int, UsmAllocation] = {}
        self._freed = FreedAllocations()
        self._users: WeakSet[Event] = WeakSet()
        self._finished = False

    def finish(self) -> None:
        """Reports leaks, unless the host is in Python, whose objects of modules are freed later."""
        self._finished = True
        if self._findings.host_frees_later:
            return
        for allocation in list(self._alive.values()):
            self._report_leak(allocation, "the end of the process")

    def _report_leak(self, allocation: UsmAllocation, when: str, released_at: Site | None = None) -> None:
        name = allocation_name(allocation)
        self._report("leak", allocation, when, f"{name} was never freed", NOT_FREED, released_at)

    # Allocations

    def usm_allocated(self, allocation: UsmAllocation) -> None:
        with self._lock:
            self._alive[allocation.number] = allocation
            self._freed.forget(allocation.pointer, allocation.end)

    def usm_freed(self, allocation: UsmAllocation) -> None:
        with self._lock:
            self._alive.pop(allocation.number, None)
            name, maker = allocation_name(allocation), allocation_maker(allocation)
            self._freed.add(_Freed(allocation.pointer, allocation.end, name, maker, self._origins.of(allocation)))
            users = [
                event for event in self._users if event.status > COMPLETE and uses(operation_of(event), allocation)
            ]
        if not self._finished and not self._origins.freed_by_host():
            self._report_leak(allocation, "the release of its context", self._origins.here())
            return
        for event in users:
            user = command(event)
            self._report(
                "freed while in use",
                allocation,
                "clMemFreeINTEL",
                f"clMemFreeINTEL frees it while {user}, which uses it, has not ended",
                "call clMemBlockingFreeINTEL, or wait for the command first",
                self._origins.here(),
                (user, self._origins.of(event)),
            )

    def _report(
        self,
        rule: str,
        allocation: UsmAllocation,
        user: str,
        words: str,
        fix: str,
        misused_at: Site | None,
        against: tuple[str, Site | None] = ("", None),
    ) -> None:
        name, maker, made_at = allocation_name(allocation), allocation_maker(allocation), self._origins.of(allocation)
        self._findings.report(Finding("usm", rule, name, maker, user, words, fix, made_at, misused_at, *against))

    # Commands

    def command_enqueued(self, event: Event, wait_list: tuple[Event, ...], blocking: bool) -> None:
        operation = operation_of(event)
        if operation is None:
            return
        touched = operation.accesses()
        for access in touched:
            if access.is_given:
                self._check_alive(event, access.ranges[0][0])
                if operation.launch is not None:
                    self._check_argument(event, operation.launch, access)
                elif self._alive:
                    self._check_host_pointer(event, access)
        launch = operation.launch
        if self._alive and (any(access.allocation for access in touched) or (launch is not None and launch.usm)):
            self._users.add(event)

    def prepares(self, kernel: Kernel) -> bool:
        """True if an argument is an address, which has to be looked up when the launch is enqueued."""
        known = [argument for argument in kernel.arguments if argument is not None]
        return any(kind == POINTER and isinstance(value, int) for kind, _, value in known)

    def _check_alive(self, event: Event, pointer: int) -> None:
        if context_of(event).usm.find(pointer) is None:
            self._report_freed(pointer, command(event), self._origins.of(event))

    def memory_refused(self, address: int) -> None:
        self._report_freed(address, "the call that was refused", self._origins.here())

    def _report_freed(self, pointer: int, user: str, used_at: Site | None) -> None:
        with self._lock:
            freed = self._freed.find(pointer)
        if freed is not None:
            self._findings.report(
                Finding(
                    "usm",
                    "use after free",
                    freed.name,
                    freed.maker,
                    user,
                    f"{user} gets {pointer:#x}, {pointer - freed.begin} bytes into memory that was freed",
                    "free it only when the last command that uses it has ended",
                    freed.made_at,
                    used_at,
                )
            )

    def _check_host_pointer(self, event: Event, access: MemoryAccess) -> None:
        allocation = context_of(event).usm.find(access.ranges[0][0])
        if allocation is not None and allocation.kind is Kind.DEVICE:
            user = command(event)
            side = "destination" if access.mode & AccessMode.WRITE else "source"
            self._report(
                "device memory as host memory",
                allocation,
                user,
                f"{user} gets device memory as its {side} on the host, which the host cannot access",
                "use clEnqueueMemcpyINTEL (in SYCL, queue::memcpy) for device allocations, or give a pointer to "
                "host memory",
                self._origins.of(event),
            )

    def _check_argument(self, event: Event, launch: LaunchKernel, access: MemoryAccess) -> None:
        pointer = access.ranges[0][0]
        if launch.device.reaches_system_memory:
            return
        if context_of(event).svm.find(pointer) is None and self._freed.find(pointer) is None:
            self._report_unknown(launch.kernel, access.argument, pointer, command(event), self._origins.of(event))

    def argument_refused(self, kernel: Kernel, index: int, address: int) -> None:
        user, site = kernel.describe(index), self._origins.here()
        if self._freed.find(address) is not None:
            self._report_freed(address, user, site)
        else:
            self._report_unknown(kernel, index, address, user, site)

    def _report_unknown(self, kernel: Kernel, index: int, pointer: int, user: str, used_at: Site | None) -> None:
        self._findings.report(
            Finding(
                "usm",
                "pointer that the device may not use",
                f"{pointer:#x}, {kernel.describe(index)}",
                "",
                user,
                f"{user} gets a pointer that lies in no USM or SVM allocation of the context",
                "allocate it with clSharedMemAllocINTEL, clHostMemAllocINTEL or clSVMAlloc (in SYCL, malloc_shared or "
                "malloc_host), or copy the data",
                misused_at=used_at,
            )
        )

    def pointer_refused(self, kernel: Kernel, index: int, allocation: UsmAllocation, device: Device) -> None:
        user = f"clEnqueueNDRangeKernel ('{kernel.name}') on device {device.id}"
        if supports(device, allocation.kind):
            why = f"it belongs to device {allocation.owners[0].id}"
            fix = "allocate it for the device that runs the kernel, or use a host allocation"
        else:
            kind = allocation.kind.name.lower()
            why = f"board '{device.board.name}' has no memory for {kind} allocations"
            fix = (
                "query the capabilities of the device first (CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL and related queries)"
            )
        self._report(
            "pointer that the device may not use",
            allocation,
            user,
            f"{user} gets it as {kernel.describe(index)}, but {why}",
            fix,
            self._origins.here(),
        )
