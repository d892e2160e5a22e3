# SPDX-License-Identifier: Apache-2.0
"""Suggestions for mistyped commands and values, and completion in shells."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from itertools import takewhile
from typing import Any

import click
from click.shell_completion import CompletionItem

from fpgart.base.option_values import CHECKS

LISTED_BY_INFO = ("boards", "devices", "engines", "options", "platforms", "variables")
"""The words for commands that do not exist, because `fpgart info` lists all of these."""
CHOICES = re.compile(r"(?P<name>FPGART_\w+)=(?P<value>.*?): (?:.*? is )?not one of (?P<choices>.*?)(?:, nor |$)")


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Returns `; did you mean x?` for the end of a sentence; "" if no choice is similar.

    Choices that begin with the word are better than all others: `a10` means a10_ref rather than soc_a10.
    """
    from difflib import get_close_matches

    choices = list(choices)
    longer = [choice for choice in choices if len(word) > 1 and choice.startswith(word)]
    found = get_close_matches(word, longer, n=1, cutoff=0.0) or get_close_matches(word, choices, n=1)
    return f"; did you mean {found[0]}?" if found else ""


def with_suggestion(words: str) -> str:
    """Returns the sentence about an option's value, with the valid value that is most similar."""
    found = CHOICES.search(words)
    if found is None:
        return words
    choices = found["choices"].split(", ")
    wrong = [part for part in found["value"].split(",") if part not in choices]
    return words + (did_you_mean(wrong[0], choices) if wrong else "")


def no_such_option(error: click.NoSuchOption, words: Iterable[str]) -> str:
    """Returns the error as a sentence, with the option that one of the words names with one dash, as aoc's do.

    Words behind -- are those of another program.
    """
    names = {name for parameter in error.ctx.command.params for name in parameter.opts} if error.ctx else set()
    for word in takewhile(lambda word: word != "--", words):
        name = word.partition("=")[0]
        if name.startswith(error.option_name) and f"-{name}" in names:
            return f"No such option '{name}'; did you mean -{name}?"
    return error.format_message()


class Choice(click.Choice[str]):
    """A choice whose error names the most similar valid value."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            words = error.message.rstrip(".") + did_you_mean(str(value), map(str, self.choices))
            raise click.BadParameter(words, ctx, param) from None


class Commands(click.Group):
    """Commands, with a hint if the first word is no command."""

    lazily: Mapping[str, str] = {}
    """By name, the module of a command, which is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *self.lazily})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.lazily:
            found: click.Command = getattr(import_module(self.lazily[cmd_name]), cmd_name)
            return found
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise click.UsageError(f"there is no command '{args[0]}'{self._hint(ctx, args)}")
        return super().resolve_command(ctx, args)

    def _hint(self, ctx: click.Context, args: list[str]) -> str:
        word = args[0]
        if word in ("check", *CHECKS):
            check = "" if word == "check" else f" {word}"
            return f": fpgart run --check{check} -- ./my_host looks for mistakes of a host"
        if word in LISTED_BY_INFO:
            return f": fpgart info lists {word}"
        known = did_you_mean(word, [*self.list_commands(ctx), "check"])
        if known:
            return known.replace("check", "run --check")
        if os.sep in word or os.path.exists(word) or shutil.which(word):
            return f"; to run a program: fpgart run -- {' '.join(args)}"
        return "; fpgart --help lists the commands"


def refuse_dashes(context: click.Context) -> None:
    """Raises UsageError if the value of an option is the -- behind which the program begins."""
    for parameter in context.command.params:
        if isinstance(parameter, click.Option) and context.params.get(parameter.name or "") == "--":
            raise click.UsageError(f"{parameter.opts[0]} needs a value before --")


Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_list(choices: Callable[[], Iterable[str]]) -> Complete:
    """Completes the last of several values that are separated by commas."""

    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        before, comma, last = typed.rpartition(",")
        return [CompletionItem(f"{before}{comma}{each}") for each in choices() if each.startswith(last)]

    return complete


def boards() -> list[str]:
    from fpgart.board.catalogue import shipped

    return shipped()


def faults(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    from fpgart.cli import fault_completion

    return fault_completion.faults(context, parameter, typed)


def checks() -> list[str]:
    return [*CHECKS, "all"]


def files(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Tells the shell to complete the name of a file."""
    return [CompletionItem(typed, type="file")]
