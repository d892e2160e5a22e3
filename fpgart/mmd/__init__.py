# SPDX-License-Identifier: Apache-2.0
"""The boards behind the interface of aocl_mmd.h: what libfpgart_mmd.so does, without any OpenCL."""
