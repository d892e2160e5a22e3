# SPDX-License-Identifier: Apache-2.0
"""Features of OpenCL C that engines have and boards do not."""

from __future__ import annotations

FEATURES_NOT_OFFERED = (
    "__opencl_c_images",
    "__opencl_c_3d_image_writes",
    "__opencl_c_read_write_images",
    "__opencl_c_pipes",
    "__opencl_c_device_enqueue",
)
_MACROS = ("__IMAGE_SUPPORT__", *FEATURES_NOT_OFFERED)
_WITHOUT = "".join(f"#undef {name}\n" for name in _MACROS) + "#line 1\n"


def without_features(source: str) -> str:
    """Returns the source for an engine's compiler, without macros for these features; lines keep their numbers."""
    return _WITHOUT + source
