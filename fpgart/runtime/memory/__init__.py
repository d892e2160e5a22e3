# SPDX-License-Identifier: Apache-2.0
"""Devices and their memory: blocks, buffers, shared and unified shared memory. Depends on no command."""
