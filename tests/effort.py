"""The number of random examples and schedules in tests: `make nightly` multiplies it."""

from __future__ import annotations

import os

EFFORT = int(os.environ.get("FPGART_TEST_EFFORT", "1"))
MOST_SCHEDULES = int(os.environ.get("FPGART_TEST_SCHEDULES", "1500"))
"""Schedules of each small host that an explorer tries."""
