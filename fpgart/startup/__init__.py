# SPDX-License-Identifier: Apache-2.0
"""The start of the driver in a process: options, boards, watchers and checks."""
