# SPDX-License-Identifier: Apache-2.0
"""The C preprocessor, as OpenCL C has it from C99.

It works on machines without a compiler. kernels/lowering.py rewrites channels, pipes and program-scope variables before
the engine's compiler sees a program; a container has to hold all that its source includes; attributes, checks and the
model of time are read from preprocessed text (kernels/functions.py).

tokens.py has lines and tokens, macros.py expands macros, expressions.py evaluates conditions, files.py finds headers,
preprocessor.py carries out the directives.
"""
