# SPDX-License-Identifier: Apache-2.0
"""The steps of the engine's compiler: in a process of their own, in order, and remembered."""
