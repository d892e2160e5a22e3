# SPDX-License-Identifier: Apache-2.0
"""tinygrad multiplies two matrices of 256 x 256."""

from __future__ import annotations

import numpy as np
from timing import report
from tinygrad import Tensor, TinyJit

rng = np.random.default_rng(1)
left, right = (rng.random((256, 256), dtype=np.float32) for _ in range(2))
a, b = Tensor(left).realize(), Tensor(right).realize()


@TinyJit
def multiply() -> Tensor:
    return (a @ b).realize()


def step() -> object:
    return multiply().numpy()


if not np.allclose(step(), left @ right, rtol=1e-3):
    raise SystemExit("wrong product")
report(step, 50)
