# SPDX-License-Identifier: Apache-2.0
"""tinygrad trains a network of two layers, in batches of 64."""

from __future__ import annotations

import numpy as np
from timing import report
from tinygrad import Tensor, TinyJit, nn

rng = np.random.default_rng(1)
inputs = Tensor(rng.random((64, 32), dtype=np.float32)).realize()
targets = Tensor(rng.random((64, 8), dtype=np.float32)).realize()
layers = [nn.Linear(32, 64), nn.Linear(64, 8)]
optimizer = nn.optim.SGD([weights for layer in layers for weights in (layer.weight, layer.bias)], lr=0.01)


# Older versions of tinygrad; newer ones read the variable TRAINING.
Tensor.training = True


@TinyJit
def train() -> Tensor:
    optimizer.zero_grad()
    loss = ((layers[1](layers[0](inputs).relu()) - targets) ** 2).mean().backward()
    optimizer.step()
    return loss.realize()


def step() -> float:
    return float(train().numpy())


first = step()
report(step, 50)
if not step() < first:
    raise SystemExit("the loss has not become smaller")
