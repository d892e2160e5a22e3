# SPDX-License-Identifier: Apache-2.0
"""Between the handles of C and the objects of Python: what each entry point needs before it calls an object."""
