# SPDX-License-Identifier: Apache-2.0
"""The boards behind aocl_mmd.h: the functions of libfpgart_mmd.so, without OpenCL."""
