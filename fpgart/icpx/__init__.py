# SPDX-License-Identifier: Apache-2.0
"""`icpx`: SYCL programs for FPGAs, compiled with the device compiler of intel-sycl-rt and the system's clang++."""
