# SPDX-License-Identifier: Apache-2.0
"""fpgart: an OpenCL driver for accelerator boards that you do not have."""

from __future__ import annotations

__version__ = "0.1.0"
