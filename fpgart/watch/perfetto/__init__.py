# SPDX-License-Identifier: Apache-2.0
"""A trace in Perfetto's own format: boards as GPUs with tracks of their own, arrows from calls, counters of banks.

Perfetto opens the JSON of a trace, too, but that knows no GPUs. wire.py writes the encoding, counters.py sums the
bytes in banks and of transfers, export.py writes the packets.
"""

from fpgart.watch.perfetto.export import as_perfetto

__all__ = ["as_perfetto"]
