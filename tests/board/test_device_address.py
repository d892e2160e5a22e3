"""Device addresses (board/device_address.py)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fpgart.board.device_address import BOARD_MASK, DEVICE_MASK, DeviceAddress

devices = st.integers(0, DEVICE_MASK)
places = st.integers(0, BOARD_MASK)


@given(devices, places)
def test_device_and_board_address_come_back(device: int, place: int) -> None:
    address = DeviceAddress.of(device, place)
    assert (address.device_id, address.board_address) == (device, place)


@given(places)
def test_device_0_has_the_boards_own_addresses(place: int) -> None:
    assert DeviceAddress.of(0, place) == place


@given(devices, places)
def test_usm_mark_is_bit_61_and_changes_nothing_else(device: int, place: int) -> None:
    address = DeviceAddress.of(device, place)
    marked = address.as_usm_device()
    assert marked == address | 1 << 61
    assert (marked.device_id, marked.board_address) == (device, place)


@pytest.mark.parametrize(("device", "place"), [(-1, 0), (128, 0), (0, -1), (0, 1 << 54)])
def test_what_does_not_fit_is_refused(device: int, place: int) -> None:
    with pytest.raises(ValueError, match=r"device id|board address"):
        DeviceAddress.of(device, place)


def test_a_device_address_is_shown_with_its_device_and_its_place_on_the_board() -> None:
    assert repr(DeviceAddress.of(3, 0x400)) == "DeviceAddress(device=3, board=0x400)"
