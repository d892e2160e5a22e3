# SPDX-License-Identifier: Apache-2.0
"""The loops of kernels and their accesses to memory and channels, for the model of time and for checks."""
