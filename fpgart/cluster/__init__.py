# SPDX-License-Identifier: Apache-2.0
"""Boards whose I/O channels are connected by cables: in one process, between processes, between machines."""
