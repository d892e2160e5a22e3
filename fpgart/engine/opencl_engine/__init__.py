# SPDX-License-Identifier: Apache-2.0
"""The engine that is another OpenCL driver for this machine's CPU.

The board's DRAM is mapped into this process, and each supported driver accepts any host address as a kernel argument
through clSetKernelArgSVMPointer, so the driver never holds a buffer.
"""
