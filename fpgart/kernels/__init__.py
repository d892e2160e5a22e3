# SPDX-License-Identifier: Apache-2.0
"""Kernels as their source or SPIR-V declares them, read without a compiler."""
