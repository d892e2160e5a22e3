# SPDX-License-Identifier: Apache-2.0
"""Device addresses: the number of a device and an address in its memory map, in one 64-bit number."""

from __future__ import annotations

DEVICE_SHIFT = 54
DEVICE_MASK = 0x7F
BOARD_MASK = (1 << DEVICE_SHIFT) - 1
USM_DEVICE_BIT = 1 << 61


class DeviceAddress(int):
    """The device's number in bits 54 to 60, the address in the board's memory map in bits 0 to 53.

    Bit 61 marks the addresses of device allocations of unified shared memory. Addresses of device 0 are the board's
    own.
    """

    __slots__ = ()

    @classmethod
    def of(cls, device_id: int, board_address: int) -> DeviceAddress:
        """Returns the encoded address. Raises ValueError for a number above 127 or an address of more than 54 bits."""
        if not 0 <= device_id <= DEVICE_MASK:
            raise ValueError(f"device id {device_id} is not within 0..{DEVICE_MASK}")
        if not 0 <= board_address <= BOARD_MASK:
            raise ValueError(f"board address {board_address:#x} needs more than {DEVICE_SHIFT} bits")
        return cls(device_id << DEVICE_SHIFT | board_address)

    @property
    def device_id(self) -> int:
        return self >> DEVICE_SHIFT & DEVICE_MASK

    @property
    def board_address(self) -> int:
        return self & BOARD_MASK

    def as_usm_device(self) -> DeviceAddress:
        return DeviceAddress(self | USM_DEVICE_BIT)

    def __repr__(self) -> str:
        return f"DeviceAddress(device={self.device_id}, board={self.board_address:#x})"
