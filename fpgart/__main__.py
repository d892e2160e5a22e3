# SPDX-License-Identifier: Apache-2.0
"""Runs `python -m fpgart`."""

from fpgart.cli.main import main

main()
