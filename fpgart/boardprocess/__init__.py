# SPDX-License-Identifier: Apache-2.0
"""The Python of a board process (icd/process): an engine that is asked by messages and through lanes.

It believes nothing that comes from a host: messages are checked when they are decoded, numbers when they are looked up,
launches when C has copied them out of memory that the host may change (engine/isolated/lanes.c).
"""
