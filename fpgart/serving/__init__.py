# SPDX-License-Identifier: Apache-2.0
"""Boards that several hosts of a user have, one after the other: `fpgart board serve` and those who use it.

A *service* (service.py) knows which host has opened which board and what each board is programmed with, and has a board
process ready for the next host (pool.py). A host (connection.py, shared_board.py) asks it by messages of
engine/isolated/messages.py; its kernels run in a board process that no other host reaches. See docs/serving.md.
"""
