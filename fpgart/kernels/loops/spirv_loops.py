# SPDX-License-Identifier: Apache-2.0
"""The loops of kernels in SPIR-V, as kernel_loops.py finds those in a source: for the model of time (docs/time.md).

They are the loops that the compiler to SPIR-V has left. A loop is counted if one condition ends it, which compares a
value that grows by the same number each time with a bound that the arguments decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fpgart.kernels.loops.kernel_loops import MOST_TOUCHES, KernelLoops, Touch, checked_size
from fpgart.kernels.loops.loop_tree import Call, Called, Choice, Item, Loop, Talk, UncountableError, talks
from fpgart.kernels.loops.pipeline_depth import CALLS, FLOAT_CYCLES, INTEGER_CYCLES
from fpgart.kernels.loops.pipeline_depth import DEEPEST as LONGEST_PIPELINE
from fpgart.kernels.loops.spirv_flow import END, Flow, FlowLoop
from fpgart.kernels.loops.spirv_values import (
    COMPARISONS,
    OPPOSITE,
    SWAPPED,
    Expression,
    Place,
    Values,
    computed,
    either,
)
from fpgart.kernels.spirv import Op, Storage
from fpgart.kernels.spirv_code import Code, FunctionCode, Instruction
from fpgart.kernels.spirv_facts import LoopControl, numbers_of

DEEPEST = 32
"""The deepest nesting of loops and conditions that are counted."""
CYCLES: dict[int, int] = {
    **dict.fromkeys((Op.F_ADD, Op.F_SUBTRACT), FLOAT_CYCLES["+"]),
    Op.F_MULTIPLY: FLOAT_CYCLES["*"], Op.F_DIVIDE: FLOAT_CYCLES["/"],
    Op.ADD: INTEGER_CYCLES["+"], Op.SUBTRACT: INTEGER_CYCLES["-"], Op.MULTIPLY: INTEGER_CYCLES["*"],
    **dict.fromkeys((Op.U_DIVIDE, Op.S_DIVIDE), INTEGER_CYCLES["/"]),
    **dict.fromkeys((Op.U_MODULO, Op.S_REMAINDER), INTEGER_CYCLES["%"]),
}  # fmt: skip
GLOBAL_STORAGE = (Storage.GLOBAL, Storage.DEVICE_ONLY, Storage.HOST_ONLY)
UPWARDS, DOWNWARDS = ("!=", "<", "<="), ("!=", ">", ">=")
"""The comparisons that may end a loop."""
VARYING = re.compile(r"\bi\d+\b|\bget_|\[|\?")
"""Finds what is not the same in all iterations and work-items: such as a counter of a loop."""
CALLED = {14: "cos", 19: "exp", 20: "exp2", 26: "fma", 37: "log", 38: "log2", 42: "mad", 48: "pow", 56: "rsqrt",
          57: "sin", 61: "sqrt"}  # fmt: skip
"""Functions of OpenCL.std."""


def loops_of_code(code: Code) -> dict[str, KernelLoops]:
    module = _Module(code)
    return {
        name: module.kernel(name) for name, kernel in code.module.kernels.items() if kernel.function in code.functions
    }


class _Module:
    """The functions of a module; each is read once."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self._called: dict[int, Called | None] = {}

    def kernel(self, name: str) -> KernelLoops:
        function = self.code.body_of(name)
        depth = _depth(function)
        try:
            reader = _Reader(self, function)
            items = reader.items()
            checked_size(items)
        except UncountableError as error:
            return KernelLoops(None, (), (), depth=depth, uncounted=str(error))
        captured, trips = reader.values.captured, tuple(reader.trips)
        return KernelLoops(items, tuple(captured), trips, tuple(reader.touches()), depth, captured=captured)

    def called(self, id: int) -> Called | None:
        """Returns a function with its items. Raises UncountableError if they cannot be counted."""
        if id not in self._called:
            self._called[id] = None  # a function that calls itself cannot be counted
            if id in self.code.functions:
                reader = _Reader(self, self.code.functions[id])
                items = reader.items()
                made = Called(tuple(reader.values.names), tuple(reader.trips), items, checked_size(items))
                self._called[id] = made
        return self._called[id]


@dataclass(frozen=True, slots=True)
class _Site:
    """An access of `size` bytes, with the loops and the conditions around it by their blocks."""

    place: Place
    size: int
    writes: bool
    loops: tuple[int, ...]
    conditions: tuple[int, ...]

    def key(self) -> tuple[object, ...]:
        """Returns what accesses to neighbouring elements have in common."""
        return (self.place.root, self.place.parts, self.size, self.writes, self.loops, self.conditions)


class _Reader:
    def __init__(self, module: _Module, function: FunctionCode) -> None:
        self._module = module
        self._code = module.code
        self._function = function
        self._flow = Flow(function)
        self.values = Values(module.code, function, self._flow.latches())
        self.trips: list[tuple[str, str]] = []
        """The numbers of iterations of loops, by the names that stand for them."""
        self._sites: list[_Site] = []
        self._loops: dict[int, Loop] = {}
        self._open: list[int] = []
        self._conditions: list[int] = []
        self._guards: set[int] = set()
        """Conditions which only decide whether a loop has an iteration."""
        self._bounds: dict[int, set[Expression | None]] = {}

    def items(self) -> tuple[Item, ...]:
        """Returns the items of the function. Raises UncountableError."""
        return tuple(self._region(self._flow.entry, END, None, self._flow.meetings(self._flow.entry, None)))

    def touches(self) -> Iterator[Touch]:
        """Yields the accesses to arrays that are arguments; those to neighbouring elements as one."""
        sites = sorted(self._sites[:MOST_TOUCHES], key=lambda site: (site.key(), site.place.fixed))
        while sites:
            first = sites.pop(0)
            end = first.place.fixed + first.size
            while sites and sites[0].key() == first.key() and sites[0].place.fixed == end:
                end += sites.pop(0).size
            yield self._touch_of(first, end - first.place.fixed)

    def _touch_of(self, site: _Site, size: int) -> Touch:
        index: Expression = 0
        for value, step in site.place.parts:
            if VARYING.search(value) and step % site.size == 0:
                index = computed("+", index, computed("*", value, step // site.size))
            elif VARYING.search(value):
                index = "?"
        name = self.values.names[self._function.parameters.index(site.place.root)]
        times = 1 if self._guards.issuperset(site.conditions) else 0
        loops = tuple(self._loops[label] for label in site.loops)
        return Touch(name, size, str(index), times, 0, loops, site.size)

    def _region(self, at: int, stop: int, within: FlowLoop | None, meetings: dict[int, int]) -> Iterator[Item]:
        """Yields the items from one block up to another. Raises UncountableError."""
        if len(self._open) + len(self._conditions) > DEEPEST:
            raise UncountableError("loops and conditions are nested too deeply")
        while at not in (stop, END):
            inner = self._flow.loop_at(at, within)
            if inner is not None:
                yield self._loop(inner)
            else:
                for each in self._function.blocks[at].body:
                    yield from self._instruction(each)
                choice = self._choice(at, within, meetings)
                if choice is not None:
                    yield choice
            at = meetings[at]

    def _choice(self, at: int, within: FlowLoop | None, meetings: dict[int, int]) -> Item | None:
        """Returns the items of the branches at the end of a block; None if they have none. Raises UncountableError."""
        targets = self._flow.followers(at, within)
        if len(set(targets)) == 1 or (within is not None and any(label == at for label, _ in within.exits)):
            return None
        self._conditions.append(at)
        parts = [tuple(self._region(target, meetings[at], within, meetings)) for target in targets]
        self._conditions.pop()
        if not any(parts):
            return None
        last = self._function.blocks[at].body[-1]
        if last.code != Op.BRANCH_CONDITIONAL:
            return Choice(tuple(("?", part) for part in parts))
        condition = self.values.expression(last.operands[0])
        yes, no = parts
        if not (yes and no) and self._is_guard(last.operands[0], yes or no):
            self._guards.add(at)
        return Choice((("?" if condition is None else str(condition), yes), ("1", no)))

    def _is_guard(self, condition: int, items: tuple[Item, ...]) -> bool:
        """True if a condition compares the bounds of the one loop that it decides about."""
        made = self._function.values.get(condition)
        if made is None or made.code not in COMPARISONS or len(items) != 1 or not isinstance(items[0], Loop):
            return False
        return {self.values.expression(id) for id in made.operands} == self._bounds.get(items[0].begin)

    def _instruction(self, each: Instruction) -> Iterator[Item]:
        match each.code, each.operands:
            case Op.CALL, (function, *given):
                yield from self._call(function, given)
            case ((Op.READ_PIPE | Op.WRITE_PIPE), _):
                yield Talk("", writing=False, untold="a pipe is used without waiting for it")
            case ((Op.READ_PIPE_BLOCKING | Op.WRITE_PIPE_BLOCKING), (pipe, *_)):
                yield self._talk(pipe, writing=each.code == Op.WRITE_PIPE_BLOCKING)
            case ((Op.LOAD | Op.STORE), (pointer, *_)):
                self._touch(pointer, writes=each.code == Op.STORE)

    def _call(self, function: int, given: list[int]) -> Iterator[Item]:
        name = self._code.module.name(function)
        called = self._module.called(function)
        if called is None:
            raise UncountableError(name)
        if next(talks(called.items), None) is not None:
            yield Talk("", writing=False, untold=f"function {name}() uses pipes")
        if called.items:
            known = (self.values.expression(id) for id in given)
            yield Call(called, tuple("?" if each is None else str(each) for each in known))

    def _talk(self, pipe: int, *, writing: bool) -> Talk:
        made = self._function.values.get(pipe)
        place = self.values.place(made.operands[0]) if made and made.code == Op.PIPE_FROM_STORAGE else None
        name = self._code.module.name(place.root) if place is not None else ""
        return Talk(name, writing, "" if name else "a pipe has no name")

    def _touch(self, pointer: int, *, writes: bool) -> None:
        place, size = self.values.place(pointer), self.values.size_at(pointer)
        if place is None or place.root not in self._function.parameters or not size:
            return
        if self._code.module.storage(self._code.parameter_types[place.root]) not in GLOBAL_STORAGE:
            return
        self._sites.append(_Site(place, size, writes, tuple(self._open), tuple(self._conditions)))

    # Loops

    def _loop(self, loop: FlowLoop) -> Loop:
        """Returns a loop. Raises UncountableError."""
        number = len(self.values.counters)
        counter, count = f"i{number}", f"iterations{number}"
        self.values.counters[loop.header] = counter
        head = "1"
        if loop.exits:
            self.trips.append((count, str(self._trip(loop))))
            head = f"int {counter} = 0; {counter} < {count}; {counter}++"
        given = numbers_of(*self._function.controls.get(loop.latch, (0,)))
        unroll = "all" if LoopControl.unroll in given else _number(given, LoopControl.unroll_by)
        interval = _number(given, LoopControl.initiation_interval)
        self._open.append(loop.header)
        body = tuple(self._region(loop.header, END, loop, self._flow.meetings(loop.header, loop)))
        self._open.pop()
        made = Loop(head, unroll, interval, body, loop.header)
        self._loops[loop.header] = made
        return made

    def _trip(self, loop: FlowLoop) -> Expression:
        """Returns how often a loop runs. Raises UncountableError."""
        (exit, _), *others = loop.exits
        last = self._function.blocks[exit].body[-1]
        if others or exit not in (loop.header, loop.latch) or not self._flow.is_in(exit, loop):
            raise UncountableError("a loop is left early")
        made = self._function.values.get(last.operands[0])
        sign = COMPARISONS.get(made.code) if made is not None and last.code == Op.BRANCH_CONDITIONAL else None
        if made is None or sign is None:
            raise UncountableError("a loop ends by a condition that is no comparison")
        if last.operands[1] not in loop.blocks:
            sign = OPPOSITE[sign]
        left, right = made.operands[:2]
        for its, bound, compare in ((left, right, sign), (right, left, SWAPPED[sign])):
            found = self._counted(loop, its, bound, compare, at_end=exit == loop.latch)
            if found is not None:
                return found
        raise UncountableError("the bounds of a loop are unknown")

    def _counted(self, loop: FlowLoop, its: int, bound: int, compare: str, *, at_end: bool) -> Expression | None:
        """Returns how often a loop runs while `its` compares so with `bound`; None if that is unknown."""
        value, moved = self.values.distance(its)
        induction, limit = self.values.induction(value, loop.header), self.values.expression(bound)
        if induction is None or limit is None or compare not in (UPWARDS if induction.by > 0 else DOWNWARDS):
            return None
        self._bounds[loop.header] = {induction.first, limit}
        first, step = computed("+", induction.first, moved), abs(induction.by)
        away = computed("-", limit, first) if induction.by > 0 else computed("-", first, limit)
        if compare != "!=":
            away = computed("+", away, step if "=" in compare else step - 1)
        turns = computed("/", away, step)
        if not at_end:
            return turns
        return computed("+", turns if compare == "!=" else either(turns, ">", 0), 1)


def _number(given: Mapping[LoopControl, tuple[int, ...]], control: LoopControl) -> str:
    """Returns the number of an attribute of a loop as text; "" for a loop without it."""
    return "".join(map(str, given.get(control, ())))


def _depth(function: FunctionCode) -> int:
    """Returns the cycles of the longest chain of operations, each loop passed once."""
    ready: dict[int, int] = {}
    for block in function.blocks.values():
        for each in block.body:
            used, cycles = each.operands, CYCLES.get(each.code, 0)
            match each.code, each.operands:
                case ((Op.LOAD | Op.COMPOSITE_EXTRACT), (first, *_)):
                    used = (first,)
                case Op.EXT_INST, (_, function_number, *rest):
                    used, cycles = tuple(rest), CALLS.get(CALLED.get(function_number, ""), 0)
            if each.id:
                ready[each.id] = max((ready.get(id, 0) for id in used), default=0) + cycles
    return min(max(ready.values(), default=0), LONGEST_PIPELINE)
