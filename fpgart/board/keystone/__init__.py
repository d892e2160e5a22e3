# SPDX-License-Identifier: Apache-2.0
"""The TI 66AK2x (KeyStone II): a DSP with 32-bit addresses in front of up to 8 GiB of DDR3."""
