# SPDX-License-Identifier: Apache-2.0
"""An engine's copies of boards' memory: the bytes that move, and the times; nobody reads old bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fpgart.board.catalogue import describe
from fpgart.board.simulated_board import SimulatedBoard
from fpgart.engine.mirrors import GAP, MOST_BESIDE, Mirrors, Stretch

SIZE = 24
BYTES = 4 * GAP


class FakeStore:
    """Buffers in a dictionary, which counts what moves."""

    def __init__(self) -> None:
        self.buffers: dict[int, bytearray] = {}
        self.sent: list[tuple[int, int]] = []
        self.brought: list[tuple[int, int]] = []
        self.copied: list[int] = []
        self.made = 0

    def create(self, size: int) -> int:
        self.made += 1
        self.buffers[self.made] = bytearray(b"?" * size)
        return self.made

    def release(self, handle: int) -> None:
        del self.buffers[handle]

    def write(self, handle: int, offset: int, data: bytes) -> None:
        self.sent.append((offset, len(data)))
        self.buffers[handle][offset : offset + len(data)] = data

    def read(self, handle: int, offset: int, size: int) -> bytes:
        self.brought.append((offset, size))
        assert offset + size <= len(self.buffers[handle])
        return bytes(self.buffers[handle][offset : offset + size])

    def copy(self, source: int, source_offset: int, target: int, target_offset: int, size: int) -> None:
        self.copied.append(size)
        assert source_offset + size <= len(self.buffers[source])
        assert target_offset + size <= len(self.buffers[target])
        data = self.buffers[source][source_offset : source_offset + size]
        self.buffers[target][target_offset : target_offset + size] = data


class Board:
    """A board's memory, whose host and kernels meet through mirrors; offsets count from its begin."""

    def __init__(self, size: int = BYTES) -> None:
        self.store = FakeStore()
        self.mirrors = Mirrors(self.store)
        self.memory = ctypes.create_string_buffer(size)
        self.begin = ctypes.addressof(self.memory)

    def host_writes(self, offset: int, data: bytes) -> None:
        begin = self.begin + offset
        self.mirrors.overwrite(begin, begin + len(data))
        ctypes.memmove(begin, data, len(data))
        self.mirrors.overwrite(begin, begin + len(data))

    def host_reads(self, offset: int, size: int) -> bytes:
        begin = self.begin + offset
        self.mirrors.fetch(begin, begin + size)
        return ctypes.string_at(begin, size)

    def forget(self, offset: int, size: int) -> None:
        self.mirrors.forget(self.begin + offset, self.begin + offset + size)

    def launch(
        self,
        *stretches: tuple[int, int],
        kernel: Callable[[list[memoryview]], None] = lambda views: None,
        written: bool = True,
    ) -> None:
        """The kernel sees the bytes of each stretch, in the engine's buffers."""
        asked = [Stretch(self.begin + low, self.begin + high, written) for low, high in stretches]
        self.mirrors.release_unused()
        with self.mirrors.reached(asked) as mirrors:
            views = [memoryview(self.store.buffers[mirror.handle]) for mirror in mirrors]
            kernel([view[: high - low] for view, (low, high) in zip(views, stretches, strict=True)])

    def moved(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Offset and size of what was sent and what was brought back since the last call."""
        sent, self.store.sent = self.store.sent, []
        brought, self.store.brought = self.store.brought, []
        return sent, brought


@pytest.fixture
def board() -> Board:
    return Board()


def write(data: bytes, offset: int = 0) -> Callable[[list[memoryview]], None]:
    """A kernel that writes into its first argument."""

    def kernel(views: list[memoryview]) -> None:
        views[0][offset : offset + len(data)] = data

    return kernel


def test_a_second_launch_moves_nothing(board: Board) -> None:
    board.launch((0, BYTES))
    assert board.moved() == ([(0, BYTES)], [])
    board.launch((0, BYTES), kernel=write(b"kernel"))
    assert board.moved() == ([], [])


def test_a_launch_sends_what_the_host_has_written_since(board: Board) -> None:
    board.launch((0, BYTES))
    board.moved()
    board.host_writes(100, b"host")
    seen = []
    board.launch((0, BYTES), kernel=lambda views: seen.append(bytes(views[0][100:104])))
    assert (seen, board.moved()) == ([b"host"], ([(100, 4)], []))


def test_a_read_brings_back_what_it_asks_for_once(board: Board) -> None:
    board.launch((0, BYTES), kernel=write(b"kernel", 200))
    board.moved()
    assert board.host_reads(200, 6) == b"kernel"
    assert board.host_reads(202, 2) == b"rn"
    assert board.moved() == ([], [(200, 6)])


def test_what_a_kernel_only_reads_is_not_brought_back(board: Board) -> None:
    board.host_writes(0, b"input")
    board.launch((0, BYTES), written=False)
    board.moved()
    assert board.host_reads(0, 5) == b"input"
    assert board.moved() == ([], [])


def test_what_nobody_has_written_is_not_sent(board: Board) -> None:
    board.forget(0, BYTES)
    board.host_writes(8, b"written")
    board.launch((0, BYTES))
    assert board.moved() == ([(8, 7)], [])


def test_a_small_gap_is_sent_along(board: Board) -> None:
    board.launch((0, BYTES), written=False)
    board.moved()
    board.host_writes(0, b"one")
    board.host_writes(10, b"two")
    board.host_writes(13 + GAP + 1, b"far")
    board.launch((0, BYTES))
    assert board.moved()[0] == [(0, 13), (13 + GAP + 1, 3)]


def test_a_gap_that_a_kernel_has_written_is_not_sent_along(board: Board) -> None:
    board.launch((0, BYTES), kernel=write(b"kernel", 5))
    board.moved()
    board.host_writes(0, b"one")
    board.host_writes(20, b"two")
    board.launch((0, BYTES))
    assert board.moved()[0] == [(0, 3), (20, 3)]
    assert board.host_reads(5, 6) == b"kernel"


def test_a_part_at_the_begin_uses_the_buffer_of_the_whole(board: Board) -> None:
    board.launch((0, BYTES))
    board.launch((0, 128), kernel=write(b"part"))
    assert (board.store.made, board.host_reads(0, 4)) == (1, b"part")


def test_the_whole_and_its_parts_hear_of_each_other_within_the_engine(board: Board) -> None:
    board.launch((0, 64), kernel=write(b"low"))
    board.launch((64, 128), kernel=write(b"high"))
    board.moved()
    seen = []
    board.launch((0, 128), kernel=lambda views: seen.append((bytes(views[0][:3]), bytes(views[0][64:68]))))
    board.launch((64, 128), kernel=lambda views: seen.append((bytes(views[0][:4]), b"")))
    assert seen == [(b"low", b"high"), (b"high", b"")]
    assert board.moved() == ([], [])
    assert board.store.copied == [64, 64, 64]


def test_there_are_few_buffers_for_the_same_bytes(board: Board) -> None:
    for offset in range(40):
        board.launch((offset, 100), kernel=write(bytes([offset])))
    board.mirrors.release_unused()
    assert len(board.store.buffers) == MOST_BESIDE
    assert board.host_reads(0, 40) == bytes(range(40))


def test_two_parts_of_a_launch_have_buffers_that_both_last(board: Board) -> None:
    board.launch((0, 100))

    def kernel(views: list[memoryview]) -> None:
        views[0][:3], views[1][:3] = b"one", b"two"

    board.launch((0, 40), (40, 140), kernel=kernel)
    assert (board.host_reads(0, 3), board.host_reads(40, 3)) == (b"one", b"two")


def test_what_the_host_writes_during_a_launch_stays(board: Board) -> None:
    def kernel(views: list[memoryview]) -> None:
        views[0][:6] = b"kernel"
        board.host_writes(100, b"host")

    board.launch((0, BYTES), kernel=kernel)
    assert (board.host_reads(0, 6), board.host_reads(100, 4)) == (b"kernel", b"host")
    seen = []
    board.launch((0, BYTES), kernel=lambda views: seen.append(bytes(views[0][100:104])))
    assert seen == [b"host"]


def test_a_read_during_a_launch_is_not_the_last_word(board: Board) -> None:
    def kernel(views: list[memoryview]) -> None:
        board.host_reads(0, 6)
        views[0][:6] = b"kernel"

    board.launch((0, BYTES), kernel=kernel)
    assert board.host_reads(0, 6) == b"kernel"


def test_memory_without_contents_gives_its_buffer_back(board: Board) -> None:
    board.launch((0, 64))
    board.launch((64, 128))
    board.forget(0, 64)
    board.launch((64, 128))
    board.launch((64, 128))
    assert len(board.store.buffers) == 1


def test_a_launch_that_fails_may_have_written(board: Board) -> None:
    def kernel(views: list[memoryview]) -> None:
        views[0][:6] = b"kernel"
        raise InterruptedError

    with pytest.raises(InterruptedError):
        board.launch((0, BYTES), kernel=kernel)
    assert board.host_reads(0, 6) == b"kernel"


SPAN = st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(lambda pair: (min(pair), max(pair)))
STEP = st.one_of(
    st.tuples(st.just("write"), SPAN),
    st.tuples(st.just("read"), SPAN),
    st.tuples(st.just("forget"), SPAN),
    st.tuples(st.sampled_from(["launch", "look"]), SPAN, SPAN),
)


@given(st.lists(STEP, max_size=40))
def test_host_and_kernels_see_one_memory(steps: list[tuple[object, ...]]) -> None:
    """Against a plain array, in which bytes that nobody has written are None."""
    board = Board(SIZE)
    model: list[int | None] = list(bytes(SIZE))
    for number, (what, span, *rest) in enumerate(steps, 1):
        low, high = span  # type: ignore[misc]
        if what == "write":
            board.host_writes(low, bytes([number]) * (high - low))
            model[low:high] = [number] * (high - low)
        elif what == "read":
            check(board.host_reads(low, high - low), model[low:high])
        elif what == "forget":
            board.forget(low, high - low)
            model[low:high] = [None] * (high - low)
        else:
            (other,) = rest
            launch(board, model, [span, other], number if what == "launch" else 0)  # type: ignore[list-item]
    check(board.host_reads(0, SIZE), model)


def check(seen: bytes, expected: list[int | None]) -> None:
    assert all(one == other for one, other in zip(seen, expected, strict=True) if other is not None)


def launch(board: Board, model: list[int | None], spans: list[tuple[int, int]], value: int) -> None:
    """A kernel compares all that it reaches with the model; with a `value` it writes that into every second byte."""
    stretches = [span for span in sorted(spans) if span[0] < span[1]]
    if len(stretches) == 2 and stretches[1][0] < stretches[0][1]:
        stretches = stretches[:1]

    def kernel(views: list[memoryview]) -> None:
        for (low, high), view in zip(stretches, views, strict=True):
            check(bytes(view), model[low:high])
            if value:
                view[::2] = bytes([value]) * len(view[::2])
                model[low:high:2] = [value] * len(view[::2])

    if stretches:
        board.launch(*stretches, kernel=kernel, written=bool(value))


def test_c_moves_no_bytes_of_a_board_behind_the_mirrors_back() -> None:
    board = SimulatedBoard(describe("usm_s10"))
    assert board.in_c
    board.keep_elsewhere(Mirrors(FakeStore()))
    assert not board.in_c
