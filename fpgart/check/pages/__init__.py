# SPDX-License-Identifier: Apache-2.0
"""Access rights of memory pages as checks: the protected blocks, and the handler of the resulting signals."""
