# SPDX-License-Identifier: Apache-2.0
"""What all of fpgart builds on: options, errors, the log, files, constants of the API."""
