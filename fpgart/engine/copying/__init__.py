# SPDX-License-Identifier: Apache-2.0
"""Engines whose kernels work on copies of the boards' memory."""
