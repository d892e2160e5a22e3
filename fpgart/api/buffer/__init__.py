# SPDX-License-Identifier: Apache-2.0
"""Buffers (OpenCL 3.0, 5.2), and what applies to all memory objects (5.4 to 5.6)."""
