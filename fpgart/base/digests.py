# SPDX-License-Identifier: Apache-2.0
"""SHA-1 and SHA-256 from the interpreter's own modules.

hashlib opens a library of cryptography, which takes longer than all that the driver imports for a first kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Protocol


class Digest(Protocol):
    """The methods of a hash object that the driver calls."""

    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...

    def hexdigest(self) -> str: ...


def _own(name: str, *modules: str) -> Callable[..., Digest]:
    """Returns the hash function from the first module that exists: versions of Python name the module differently."""
    for module in modules:
        try:
            found: Callable[..., Digest] = getattr(import_module(module), name)
        except ImportError:
            continue
        return found
    raise ImportError(f"this Python has no {name}")


sha1 = _own("sha1", "_sha1", "hashlib")
sha256 = _own("sha256", "_sha2", "_sha256", "hashlib")
