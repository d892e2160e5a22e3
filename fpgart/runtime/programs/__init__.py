# SPDX-License-Identifier: Apache-2.0
"""Programs, kernels with their arguments, and pipes. Nothing here runs a kernel."""
