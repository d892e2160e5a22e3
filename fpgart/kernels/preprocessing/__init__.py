# SPDX-License-Identifier: Apache-2.0
"""The C preprocessor, as OpenCL C has it from C99.

Two parts of fpgart need preprocessed text, on machines without a compiler: kernels/lowering.py rewrites
channels, pipes and program-scope variables before the engine's compiler sees a program, and a container has to hold all
that its source includes.

tokens.py has lines and tokens, macros.py expands macros, expressions.py evaluates conditions, files.py finds headers,
preprocessor.py carries out the directives.
"""
