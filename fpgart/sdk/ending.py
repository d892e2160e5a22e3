# SPDX-License-Identifier: Apache-2.0
"""The end of the compilers: an exit status, and one sentence or the compiler's log on stderr."""

from __future__ import annotations

from collections.abc import Callable

import click

from fpgart.aocx.compiler import CompileError
from fpgart.aocx.errors import AocxError, of_file

FAILED = 1
MISUSED = 2
Errors = tuple[type[Exception], ...]


def status_of(
    tool: str,
    work: Callable[[], None],
    misused: Errors,
    *,
    refused: Errors = (CompileError,),
    failed: Errors = (AocxError,),
    at_last: str = "",
) -> int:
    """Does the work; returns 0, 1 after an error, or 2 after an error in `misused`: an invalid command line.

    `refused`: errors whose text is a compiler's log; `at_last` is a line that follows it.
    """
    try:
        work()
    except misused as error:
        click.echo(f"{tool}: {error}", err=True)
        return MISUSED
    except refused as error:
        words = str(error).rstrip() or "error: the compiler gave no reason"
        click.echo("\n".join(filter(None, (words, at_last))), err=True)
        return FAILED
    except failed as error:
        click.echo(f"{tool}: {error}", err=True)
        return FAILED
    except OSError as error:
        click.echo(f"{tool}: {of_file(error)}", err=True)
        return FAILED
    return 0
