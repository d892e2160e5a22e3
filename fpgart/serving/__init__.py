# SPDX-License-Identifier: Apache-2.0
"""Boards that several hosts of a user use by turns: `fpgart board serve` and its clients.

A *service* (service.py) records which host has opened which board and the program of each board, and has a board
process ready for the next host (pool.py). A host (connection.py, shared_board.py) sends it messages of
engine/isolated/messages.py; its kernels run in a board process for this host alone. See docs/serving.md.
"""
