# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a container or a kernel's source."""

from __future__ import annotations


class AocxError(Exception):
    """A container, or part of one, is not what it should be; the sentence says where and why."""
