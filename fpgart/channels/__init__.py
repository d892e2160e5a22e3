# SPDX-License-Identifier: Apache-2.0
"""Channels and pipes between kernels: FIFOs, their networks, cables between boards, and their simulated time."""
