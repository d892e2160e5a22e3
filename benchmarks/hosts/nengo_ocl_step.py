# SPDX-License-Identifier: Apache-2.0
"""nengo-ocl simulates two ensembles of 200 neurons and a node, 100 steps at a time."""

from __future__ import annotations

import nengo
import nengo_ocl
import pyopencl as cl
from chosen import chosen_device
from timing import report

STEPS = 100

with nengo.Network(seed=1) as network:
    node = nengo.Node(0.5)
    first, second = (nengo.Ensemble(200, 1) for _ in range(2))
    nengo.Connection(node, first)
    nengo.Connection(first, second)

context = cl.Context([chosen_device()])
with nengo_ocl.Simulator(network, context=context, progress_bar=False) as simulator:
    report(lambda: simulator.run_steps(STEPS), 5)
