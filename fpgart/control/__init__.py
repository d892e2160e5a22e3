# SPDX-License-Identifier: Apache-2.0
"""Requests of the host's Python to the driver of the same process, and the driver's answers."""
