# SPDX-License-Identifier: Apache-2.0
"""A scan of the body of a function that finds its loops, conditions and uses of channels (loop_tree.py)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Set

from fpgart.kernels.functions import Function
from fpgart.kernels.loops.assignments import Assignments
from fpgart.kernels.loops.loop_tree import FOREVER, Call, Called, Choice, Item, Loop, Talk, UncountableError
from fpgart.kernels.source_text import DIRECTIVE, WORD, blank, closings, end_of_statement, split
from fpgart.kernels.unrolling import HEAD

HINT = re.compile(r"[ \t]*#[ \t]*pragma[ \t]+(?P<name>unroll|nounroll|ii)\b(?P<value>[^\n]*)")
STEP_OF_CODE = re.compile(
    r"^[ \t]*#[^\n]*$|\b(?P<word>for|while|do|if|else|switch|break|return|goto|[A-Za-z_]\w*(?=\s*\())\b", re.MULTILINE
)
LOOPING = re.compile(r"\b(?:for|while|do)\b")
TALKING = re.compile(r"\b(?P<way>read|write)_channel_(?P<once>nb_)?(?:intel|altera)\s*\(|\b(?:read|write)_pipe\s*\(")
SKIPPING = re.compile(r"\bcontinue\b")
NESTED = re.compile(r"\s*if\b")
IF = re.compile(r"(?P<if>if\s*\()")
ELSE = re.compile(r"\s*else\b(?:\s*(?P<if>if\s*\())?")
PERHAPS = re.compile(r"\?|&&|\|\|")
PLACE = re.compile(r"[;{}]")
LEAVING = re.compile(r"\b(?:break|return|goto)\b")
UNCOUNTABLE = ("while", "do", "goto", "switch")
DEEPEST = 32
"""The deepest nesting of loops that are counted."""
LONGEST_CHANNEL = 256
"""Characters of a channel's name with its indices, and of the factor of an unrolled loop."""


class Places:
    """The ascending positions of something in a text."""

    def __init__(self, places: Iterator[int]) -> None:
        self._places = list(places)

    @classmethod
    def of(cls, pattern: re.Pattern[str], text: str) -> Places:
        return cls(found.start() for found in pattern.finditer(text))

    def before(self, at: int) -> int:
        """Returns the last position before `at`, or 0 if there is none."""
        index = bisect_left(self._places, at)
        return self._places[index - 1] if index else 0

    def any(self, begin: int, end: int) -> bool:
        """True if a position lies in [`begin`, `end`)."""
        index = bisect_left(self._places, begin)
        return index < len(self._places) and self._places[index] < end


class Scan:
    """Scans the body of one function.

    `looping` and `talking` name the functions that contain loops, and those that use channels. The positions of loops,
    calls and jumps are found once, so nested conditions cost no more than others.
    """

    def __init__(self, function: Function, looping: Mapping[str, Called | None], talking: Set[str]) -> None:
        self.name = function.name
        self.body = function.body
        self.plain = blank(DIRECTIVE, function.body)
        self.given = Assignments(self.plain)
        self.conditions: list[tuple[int, int]] = []
        """The positions of statements under conditions, as far as it has scanned."""
        self._closed = closings(self.plain)
        self._looping = looping
        self._talking = talking
        self._statements, self._perhaps = Places.of(PLACE, self.plain), Places.of(PERHAPS, self.plain)
        self._leaving, self._skipping = Places.of(LEAVING, self.plain), Places.of(SKIPPING, self.plain)
        self._loops, self._talks = Places.of(LOOPING, self.plain), Places.of(TALKING, self.plain)
        words = [word for word in WORD.finditer(self.plain) if word[0] in looping or self._is_talking(word[0])]
        self._calls = Places(word.start() for word in words)
        talks = self._talks.any(0, len(self.plain)) or any(self._is_talking(word[0]) for word in words)
        self._uses_channels = function.is_kernel and talks

    def _is_talking(self, function: str) -> bool:
        return function in self._talking and function != self.name

    def items(self) -> tuple[Item, ...]:
        """Returns the items of the whole body; raises UncountableError if they cannot be counted."""
        return tuple(self._block(0, len(self.body), 0, 0))

    def _block(self, begin: int, end: int, depth: int, nested: int) -> Iterator[Item]:
        """Yields the loops, calls and uses of channels in a part of the body. Raises UncountableError."""
        at = begin
        hints: dict[str, str] = {}
        while (found := STEP_OF_CODE.search(self.body, at, end)) is not None:
            at, word = found.end(), found["word"]
            if word is None:
                hint = HINT.match(found[0])
                hints |= {hint["name"]: hint["value"].strip()} if hint else {}
            elif word == "for" or (word == "while" and self._is_endless(at)):
                loop, at = self._loop(at, end, hints, depth, nested)
                yield loop
                hints = {}
            elif word in UNCOUNTABLE or (depth and word in ("break", "return")):
                raise UncountableError(word)
            elif word in self._looping or self._is_talking(word):
                called, at = self._call(word, at, depth, nested)
                yield from called
            elif word == "opencl_unroll_hint":
                hints["unroll"] = self._factor(at)
            elif TALKING.match(self.plain, found.start()):
                yield self._talk(found.start(), at)
            elif word == "if":
                choice, until = self._choice(found.start(), end, depth, nested)
                self.conditions.append((at, until))
                at = until
                yield from choice

    def _choice(self, at: int, end: int, depth: int, nested: int) -> tuple[list[Choice], int]:
        """Returns the branches of the `if` at `at`, with every `else`, and the end of the last one."""
        branches: list[tuple[str, tuple[Item, ...]]] = []
        matters, hangs, begin = False, False, at
        head = IF.match(self.plain, at, end)
        while head is not None:
            body, condition = head.end(), ""
            if head["if"]:
                closed = self._closed.get(head.end() - 1, end)
                body, condition = closed + 1, self.plain[head.end() : closed]
            at = end_of_statement(self.plain, body, self._closed)
            items = self._branch(body, min(at, end), depth, nested)
            if items and hangs:  # an `else` to an `if` without braces in this one
                raise UncountableError("else")
            hangs = hangs or NESTED.match(self.plain, body) is not None
            matters = matters or bool(items)
            branches.append((condition.strip() if head["if"] else "1", items))
            head = ELSE.match(self.plain, at, end) if head["if"] else None
        at = max(at, begin + len("if"))
        return ([Choice(tuple(branches))] if matters else []), at

    def _branch(self, begin: int, end: int, depth: int, nested: int) -> tuple[Item, ...]:
        """Returns the items of one branch; none if it has neither loops nor channels. Raises UncountableError."""
        if depth and (self._leaving.any(begin, end) or self._skips(begin, end)):
            raise UncountableError("a loop, or a channel, is left early")
        if not self._matters(begin, end):
            return ()
        if nested == DEEPEST:
            raise UncountableError("if")
        return tuple(self._block(begin, end, depth, nested + 1))

    def _skips(self, begin: int, end: int) -> bool:
        """True if `continue` may skip a use of a channel."""
        return self._uses_channels and self._skipping.any(begin, end)

    def _loop(self, at: int, end: int, hints: Mapping[str, str], depth: int, nested: int) -> tuple[Loop, int]:
        """Returns the loop whose keyword ends at `at`, and the end of its statement. Raises UncountableError."""
        opened = self.plain.find("(", at)
        closed = self._closed.get(opened)
        if closed is None or depth == DEEPEST:
            raise UncountableError("for")
        until = min(end_of_statement(self.plain, closed + 1, self._closed), end)
        head = self.plain[opened + 1 : closed]
        parts = None if FOREVER.fullmatch(head) else HEAD.fullmatch(head)
        if parts is not None and self.given.count(parts["name"], closed + 1, until):
            raise UncountableError(f"for ({head})")
        within = tuple(self._block(closed + 1, until, depth + 1, nested))
        return Loop(head, _unrolling(hints), hints.get("ii", ""), within, at, until), until

    def _factor(self, at: int) -> str:
        """Returns the factor in the unrolling attribute whose name ends at `at`."""
        opened = self.plain.find("(", at, at + LONGEST_CHANNEL)
        closed = self._closed.get(opened, at)
        return self.plain[at:closed].strip("( ") if closed - at < LONGEST_CHANNEL else "?"

    def _is_endless(self, at: int) -> bool:
        """True if the condition of the `while` that ends at `at` is always true."""
        opened = self.plain.find("(", at)
        closed = self._closed.get(opened, -1)
        return closed > 0 and bool(FOREVER.fullmatch(self.plain, opened + 1, closed))

    def _call(self, function: str, at: int, depth: int, nested: int) -> tuple[list[Item], int]:
        """Returns a call whose function's name ends at `at`, behind the items of its arguments, and the call's end.

        Raises UncountableError.
        """
        found: list[Item] = []
        if self._is_talking(function):
            found.append(Talk("", writing=False, untold=f"function {function}() uses channels"))
        if function not in self._looping:
            return found, at
        called, opened = self._looping[function], self.plain.find("(", at)
        closed = self._closed.get(opened)
        if called is None or closed is None or nested == DEEPEST:
            raise UncountableError(function)
        arguments = self._block(opened + 1, closed, depth, nested + 1)
        call = Call(called, tuple(split(self.plain[opened + 1 : closed])))
        return [*found, *arguments, call], closed

    def _matters(self, begin: int, end: int) -> bool:
        """True if a part of the body contains loops or channels, or calls functions that do."""
        return any(places.any(begin, end) for places in (self._loops, self._talks, self._calls))

    def _talk(self, begin: int, at: int) -> Talk:
        """Returns the use of a channel by the call that begins at `begin` and whose name ends at `at`."""
        call = TALKING.match(self.plain, begin)
        closed = self._closed.get(self.plain.find("(", at))
        if call is None or closed is None or not call["way"]:
            return Talk("", writing=False, untold="it uses pipes")
        if call["once"]:
            return Talk("", writing=False, untold="a channel is used without waiting for it")
        if self._perhaps.any(self._statements.before(begin), begin):
            return Talk("", writing=False, untold="a channel is used under a condition")
        channel = split(self.plain[call.end() : min(closed, call.end() + LONGEST_CHANNEL)])[0]
        if len(channel) == LONGEST_CHANNEL:
            untold = f"more than {LONGEST_CHANNEL} characters say which channel is used"
            return Talk("", writing=False, untold=untold)
        return Talk(channel.strip(), call["way"] == "write")


def _unrolling(hints: Mapping[str, str]) -> str:
    if "nounroll" in hints or "unroll" not in hints:
        return ""
    return hints["unroll"].strip("() ") or "all"
