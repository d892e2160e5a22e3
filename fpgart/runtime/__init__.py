# SPDX-License-Identifier: Apache-2.0
"""The OpenCL runtime, in floors: scheduling, memory, programs, commands, objects, model; each knows those before it."""
