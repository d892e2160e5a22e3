# SPDX-License-Identifier: Apache-2.0
"""The Python of a board process (icd/process): it serves an engine by messages and through lanes.

It trusts nothing that comes from a host. Messages are checked when they are decoded, numbers when they are looked up,
launches after C has copied them out of memory that the host may change (engine/isolated/lanes.c).
"""
