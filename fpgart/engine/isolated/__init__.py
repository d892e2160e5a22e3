# SPDX-License-Identifier: Apache-2.0
"""The engine in another process, the board process, seen from the host.

An `IsolatedEngine` is an `Engine` whose programs and kernels stand for those of an engine in a process that the driver
starts (process.py) and that serves messages (messages.py, codec.py; fpgart/boardprocess answers them). Launches go
through memory of both (lanes.c). If that process dies, the commands that ran there fail with a message (loss.py), and
the next use of the engine starts another process, where programs are made again in the same way.
"""
