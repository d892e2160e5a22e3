# SPDX-License-Identifier: Apache-2.0
"""The layout of the first page of a stretch, in bytes from its begin."""

CRASH = 0
"""`struct crash` (engine/containment/crash.h): what the board process says of the signal that it dies of."""
HOST_WAITS = 256
"""Whether threads of the host wait for kernels (channels/waiting.c)."""
CHANNELS_WATCHED = 512
"""Whether what happens to channels is remembered (channels/fifo_log.c)."""
LANE_ALIGNMENT = 4096
"""Of the address of a lane."""
