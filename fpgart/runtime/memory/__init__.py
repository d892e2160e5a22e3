# SPDX-License-Identifier: Apache-2.0
"""Devices and what lies in their memory: blocks, buffers, shared and unified shared memory. Knows no command."""
