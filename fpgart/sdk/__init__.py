# SPDX-License-Identifier: Apache-2.0
"""The commands of the vendors' SDKs, aoc, aocl, clocl and icpx, and the folder in which hosts look for them."""
