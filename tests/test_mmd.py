"""What is counted of the calls to a board (board/mmd.py)."""

from __future__ import annotations

from fpgart.board.mmd import Traffic


def test_traffic_is_the_number_of_calls_and_the_sum_of_their_bytes() -> None:
    traffic = Traffic()
    assert traffic == Traffic(0, 0)
    traffic.add(100)
    traffic.add(28)
    assert traffic == Traffic(calls=2, bytes=128)
