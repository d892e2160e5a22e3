# SPDX-License-Identifier: Apache-2.0
"""Languages and extensions of devices whose engines answer fewer queries."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace

from fpgart.base import opencl as cl

NAME_VERSION = 68  # bytes of a cl_name_version


SILENT = SimpleNamespace(platform=SimpleNamespace(engine=SimpleNamespace(device_info=lambda query: b"")))


def test_without_an_answer_of_the_engine_floats_are_rounded_to_nearest_and_have_infinities(
    imported: Callable[..., ModuleType],
) -> None:
    answer = imported("api.device_info").DEVICE_INFO[cl.CL_DEVICE_SINGLE_FP_CONFIG](SILENT)
    assert int.from_bytes(answer, "little") == cl.CL_FP_ROUND_TO_NEAREST | cl.CL_FP_INF_NAN


def test_without_an_answer_of_the_engine_the_versions_of_opencl_c_are_1_0_to_1_2(
    imported: Callable[..., ModuleType],
) -> None:
    answer = imported("api.device_extensions").opencl_c_versions(SILENT)
    versions = [int.from_bytes(answer[at : at + 4], "little") for at in range(0, len(answer), NAME_VERSION)]
    assert versions == [1 << 22 | minor << 12 for minor in (0, 1, 2)]
