# SPDX-License-Identifier: Apache-2.0
"""`python -m fpgart`."""

from fpgart.cli.main import main

main()
