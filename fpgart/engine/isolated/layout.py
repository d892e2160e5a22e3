# SPDX-License-Identifier: Apache-2.0
"""The layout of the first page of a stretch, in bytes from its begin."""

CRASH = 0
"""`struct crash` (engine/containment/crash.h): the description of the signal that ends the board process."""
HOST_WAITS = 256
"""Nonzero while threads of the host wait for kernels (channels/waiting.c)."""
CHANNELS_WATCHED = 512
"""Nonzero if events of channels are recorded (channels/fifo_log.c)."""
LANE_ALIGNMENT = 4096
"""Alignment of the address of a lane."""
