"""Damages inputs. The same seed gives the same inputs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, (1 << 63) - 1, (1 << 64) - 1)
TEXTS = (
    b"",
    b"0",
    b"-1",
    b"4294967296",
    b"18446744073709551616",
    b"1e999",
    b"nan",
    b"%s%n",
    b"\xff\xfe",
    b"\0",
    b"9" * 5000,
)
OPENERS = (b"(", b"[", b"{", b"<a>", b"!", b"-", b"(1,", b"[0,", b'{"a":', b"#if 1\n", b"\\\n", b'"', b"'", b"/*")
LARGE = 1 << 20
"""Bytes of the largest inputs that repetition makes."""
LARGE_EVERY = 250
LARGEST = 1 << 16


class Mutator:
    """Makes damaged inputs of good ones; `words` are what their grammar is made of."""

    def __init__(self, corpus: Sequence[bytes], words: Sequence[bytes]) -> None:
        self.corpus = corpus
        self.words = (*words, *TEXTS)

    def inputs(self, seed: int) -> Iterator[bytes]:
        """Without end; the first ones are the good ones, as they are."""
        yield from self.corpus
        number = len(self.corpus)
        while True:
            yield self.input(seed, number)
            number += 1

    def input(self, seed: int, number: int) -> bytes:
        """One of inputs() by its number."""
        if number < len(self.corpus):
            return self.corpus[number]
        chance = random.Random(f"{seed} {number}")
        data = bytearray(chance.choice(self.corpus))
        if number % LARGE_EVERY == 0:
            return bytes(self._repeat_much(data, chance))
        for _ in range(min(chance.choice((1, 1, 2, 3, 5, 8, 13)), len(data) + 1)):
            chance.choice(CHANGES)(self, data, chance)
        return bytes(data[:LARGEST])

    def _flip(self, data: bytearray, chance: random.Random) -> None:
        if data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)

    def _set(self, data: bytearray, chance: random.Random) -> None:
        if data:
            data[chance.randrange(len(data))] = chance.randrange(256)

    def _number(self, data: bytearray, chance: random.Random) -> None:
        size = chance.choice((1, 2, 4, 8))
        at = chance.randrange(max(len(data) - size, 0) + 1) // size * size
        data[at : at + size] = (chance.choice(NUMBERS) % (1 << 8 * size)).to_bytes(size, "little")

    def _cut(self, data: bytearray, chance: random.Random) -> None:
        begin, end = _range(data, chance)
        del data[begin:end]

    def _truncate(self, data: bytearray, chance: random.Random) -> None:
        del data[chance.randrange(len(data) + 1) :]

    def _double(self, data: bytearray, chance: random.Random) -> None:
        begin, end = _range(data, chance)
        at = chance.randrange(len(data) + 1)
        data[at:at] = data[begin:end]

    def _splice(self, data: bytearray, chance: random.Random) -> None:
        other = chance.choice(self.corpus)
        begin, end = _range(other, chance)
        at, until = _range(data, chance)
        data[at:until] = other[begin:end]

    def _word(self, data: bytearray, chance: random.Random) -> None:
        at = chance.randrange(len(data) + 1)
        data[at:at] = chance.choice(self.words)

    def _replace_number(self, data: bytearray, chance: random.Random) -> None:
        """A number that is written in digits becomes another one."""
        begin = chance.randrange(len(data) + 1)
        while (begin < len(data) and not chr(data[begin]).isascii()) or data[begin : begin + 1].isalpha():
            begin += 1
        while begin < len(data) and not data[begin : begin + 1].isdigit():
            begin += 1
        end = begin
        while end < len(data) and data[end : end + 1].isdigit():
            end += 1
        data[begin:end] = str(chance.choice(NUMBERS)).encode()

    def _nest(self, data: bytearray, chance: random.Random) -> None:
        at = chance.randrange(len(data) + 1)
        data[at:at] = chance.choice((*OPENERS, *self.words)) * chance.choice((3, 3, 10, 10, 40, 40, 2000))

    def _repeat_much(self, data: bytearray, chance: random.Random) -> bytearray:
        begin, end = _range(data, chance)
        piece = bytes(data[begin:end]) if chance.random() < 0.5 else chance.choice((*OPENERS, *self.words))
        at = chance.randrange(len(data) + 1)
        data[at:at] = (piece or b" ") * (chance.randrange(LARGE) // max(len(piece), 1))
        return data


def _range(data: bytes | bytearray, chance: random.Random) -> tuple[int, int]:
    begin = chance.randrange(len(data) + 1)
    return begin, min(len(data), begin + int(chance.expovariate(1 / 24)))


CHANGES: tuple[Callable[[Mutator, bytearray, random.Random], None], ...] = (
    Mutator._flip, Mutator._set, Mutator._set, Mutator._number, Mutator._cut, Mutator._truncate, Mutator._double,
    Mutator._splice, Mutator._word, Mutator._word, Mutator._replace_number, Mutator._nest,
)  # fmt: skip
