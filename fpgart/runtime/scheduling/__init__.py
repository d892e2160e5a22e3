# SPDX-License-Identifier: Apache-2.0
"""Events and the scheduler: which command runs when, and on whose thread. Depends on no other object of OpenCL."""
