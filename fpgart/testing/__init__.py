# SPDX-License-Identifier: Apache-2.0
"""Testing hosts on simulated boards with pytest (docs/testing.md): the fixtures `fpga`, `fpga_trace`, `fpga_faults`.

For annotations: they are fpgart.testing.bench.Bench, .traced.Traced and .faulty.BenchFaults.
This module imports nothing, because pytest loads the plugin for every project that it tests.
"""


class LeakWarning(UserWarning):
    """A test that passed did not release buffers or allocations, or left commands that had not ended."""
