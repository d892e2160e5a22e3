# SPDX-License-Identifier: Apache-2.0
"""Program containers (.aocx) and the compiler that makes them."""
