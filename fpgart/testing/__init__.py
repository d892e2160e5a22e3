# SPDX-License-Identifier: Apache-2.0
"""Testing hosts on simulated boards with pytest (docs/testing.md): the fixtures `fpga` and `fpga_trace`.

For annotations: `fpga` is a fpgart.testing.bench.Bench, `fpga_trace` a fpgart.testing.traced.Traced. This module
imports nothing, because pytest loads the plugin for every project that it tests.
"""


class LeakWarning(UserWarning):
    """A test that passed left buffers, allocations or commands behind."""
