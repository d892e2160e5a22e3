# SPDX-License-Identifier: Apache-2.0
"""The device that the hosts of benchmarks/ in Python measure."""

from __future__ import annotations

import os

import pyopencl as cl


def chosen_device() -> cl.Device:
    """Returns the first device of the driver under test, which benchmarks/turns.py names.

    pyopencl's loader finds the PoCL that was installed with it, too.
    """
    version = os.environ["BENCHMARKED_VERSION"]
    platform = next(each for each in cl.get_platforms() if version in each.version)
    return platform.get_devices()[0]
