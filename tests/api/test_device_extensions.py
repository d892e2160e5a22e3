# SPDX-License-Identifier: Apache-2.0
"""Languages and extensions of devices whose engines answer fewer queries."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack
from types import ModuleType, SimpleNamespace

import pytest

from fpgart.base import opencl as cl

NAME_VERSION = 68  # bytes of a cl_name_version


def device_whose_engine_answers(answer: bytes) -> SimpleNamespace:
    return SimpleNamespace(platform=SimpleNamespace(engine=SimpleNamespace(device_info=lambda query: answer)))


SILENT = device_whose_engine_answers(b"")


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


@pytest.mark.parametrize("behind", [b"", b"\xff\xfe", b"_images\0\x96\xdb\x7f"])
def test_zeros_are_behind_the_name_of_a_feature_whatever_the_engine_leaves_there(
    imported: Callable[..., ModuleType], behind: bytes
) -> None:
    name = b"__opencl_c_int64"
    answer = pack("I64s", 3 << 22, name + b"\0" + behind) + pack("I64s", 3 << 22, b"__opencl_c_pipes\0" + behind)
    device = device_whose_engine_answers(answer + b"odd")
    assert imported("api.device_extensions").opencl_c_features(device) == pack("I64s", 3 << 22, name)
