# SPDX-License-Identifier: Apache-2.0
"""The model of time (docs/time.md): a scheduler with a simulated clock beside it."""
