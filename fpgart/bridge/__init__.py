# SPDX-License-Identifier: Apache-2.0
"""Converts between C's handles and Python's objects, before each entry point calls an object."""
