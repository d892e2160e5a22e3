# SPDX-License-Identifier: Apache-2.0
"""Starting the watchers that the environment asks for, each of them only then."""

from __future__ import annotations

from collections.abc import Callable

from fpgart import config
from fpgart.notices import NOTICES

AtEnd = list[Callable[[], None]]


def start_watchers(at_end: AtEnd) -> None:
    """Those that need no more than NOTICES and the entry points; to be called before these are registered.

    `at_end` gets what they do last. Raises OptionError for what cannot be done.
    """
    start_use()


def start_use() -> None:
    path = config.USE_FILE.value
    if path:
        from fpgart.watch.use import Use

        try:
            NOTICES.listen(Use(path))
        except OSError as error:
            raise config.OptionError(f"FPGART_USE_FILE={path}: {error.strerror}") from None
