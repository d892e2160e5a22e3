# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest (-p unshrunk): a failure is enough, Hypothesis looks for no smaller example."""

from __future__ import annotations

from hypothesis import Phase, settings

settings.register_profile("unshrunk", deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
settings.load_profile("unshrunk")
