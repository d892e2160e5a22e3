# SPDX-License-Identifier: Apache-2.0
"""The steps of the engine's compiler: run in another process, ordered, and kept."""
