# SPDX-License-Identifier: Apache-2.0
"""Validation of all options before a host starts."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from fpgart.base import config, option_paths
from fpgart.base.config import Option, OptionError
from fpgart.base.named_tuples import NamedTuple
from fpgart.base.option_paths import Holds
from fpgart.cli.hints import with_suggestion

Check = Callable[[], object]


class Wrong(NamedTuple):
    """An option with an invalid value, and the sentence that says why."""

    name: str
    words: str

    def spelt(self, spelling: Mapping[str, str]) -> str:
        """Returns the sentence, with the option as the user gave it in front: `spelling` has other names of options."""
        other = spelling.get(self.name)
        words = with_suggestion(self.words)
        return f"{other}: {words}" if other else words


def wrong_options() -> list[Wrong]:
    """Returns the errors of the environment's options: values first, then files, boards, engines and faults."""
    for option in config.OPTIONS.values():
        option.forget()
    found: dict[str, Wrong] = {}
    for name, check in all_checks():
        try:
            check()
        except OptionError as error:  # checks of other options raise the same error of a value
            found.setdefault(str(error), Wrong(name, str(error)))
    return list(found.values())


def refuse_wrong_options(spelling: Mapping[str, str]) -> None:
    """Raises OptionError, a line for each option that is wrong; `spelling` as in Wrong.spelt()."""
    wrong = wrong_options()
    if wrong:
        raise OptionError("\n".join(each.spelt(spelling) for each in wrong))


def all_checks() -> Iterator[tuple[str, Check]]:
    """Yields names of options with their checks: first that the values can be read, then that they are usable."""
    for option in config.OPTIONS.values():
        yield option.name, partial(getattr, option, "value")
    for option in config.OPTIONS.values():
        if option.is_set and option.holds in PLACES:
            yield option.name, partial(check_place, option)
    yield from DEEPER.items()


def check_place(option: Option[object]) -> None:
    """Raises OptionError unless the option's file or folder can be made."""
    PLACES[option.holds](option.name, str(option.value))


def check_file(name: str, text: str) -> None:
    """Raises OptionError unless a file can be written there."""
    file = Path(text.replace("%p", str(os.getpid())))
    if file.is_dir():
        raise OptionError(f"{name}={text}: this is a folder, not a file")
    if not file.parent.is_dir():
        raise OptionError(f"{name}={text}: {os.strerror(errno.ENOENT)}: {file.parent}")
    if not file.exists():
        check_makes_files(name, text, file.parent)
    elif not os.access(file, os.W_OK):
        raise OptionError(f"{name}={text}: it is not writable")


def check_file_or_stderr(name: str, text: str) -> None:
    """Raises OptionError unless it is `stderr`, or a file can be written there."""
    if text != option_paths.STDERR:
        check_file(name, text)


def check_folder(name: str, text: str) -> None:
    """Raises OptionError unless there is such a folder, or can be."""
    there = next(path for path in (Path(text), *Path(text).parents) if path.exists())
    if not there.is_dir():
        raise OptionError(f"{name}={text}: {os.strerror(errno.ENOTDIR)}: {there}")
    check_makes_files(name, text, there)


def check_makes_files(name: str, text: str, folder: Path) -> None:
    """Raises OptionError unless files can be made in a folder; access() allows it in /proc, too."""
    from tempfile import TemporaryFile  # few runs name a place

    try:
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OptionError(f"{name}={text}: no file can be made in {folder}: {error.strerror}") from None


PLACES: dict[Holds, Callable[[str, str], None]] = {
    Holds.FILE: check_file,
    Holds.FILE_OR_STDERR: check_file_or_stderr,
    Holds.FOLDER: check_folder,
}


def check_boards() -> None:
    """Raises OptionError unless all boards are known and described as they have to be."""
    from fpgart.board.catalogue import chosen_boards

    _, faults = chosen_boards()
    if faults:
        raise OptionError(f"{config.BOARD.name}: {'; '.join(map(str, faults))}")


def check_memories() -> None:
    """Raises OptionError for memories that no board has."""
    from fpgart.board.catalogue import chosen_boards

    if not config.NO_INTERLEAVING.is_set:
        return
    boards, _ = chosen_boards()
    known = list(dict.fromkeys(memory.name for board in boards for memory in board.memories))
    for name in config.NO_INTERLEAVING.value:
        if name not in (*known, "all"):
            raise OptionError(
                f"{config.NO_INTERLEAVING.name}={config.NO_INTERLEAVING.text}: no board has a memory '{name}'; "
                f"there are {', '.join((*known, 'all'))}"
            )


def check_topology() -> None:
    """Raises OptionError for a text that describes no topology, or one that the boards and processes do not fit."""
    if not config.TOPOLOGY.value:
        return
    from fpgart.board.catalogue import chosen_boards
    from fpgart.cluster import launcher, topology
    from fpgart.cluster.wiring import check_channels, own_boards, share

    if config.kernels_run_apart():
        raise OptionError("cables do not reach the board process of FPGART_ISOLATE=1, nor a service")
    place = launcher.place()
    boards, _ = chosen_boards()
    found = topology.read(config.TOPOLOGY.value, max(len(boards), place.size))
    own = own_boards(boards, found, place)
    check_channels(found, share(found.boards, place, shared=found.shared).start, own)


def check_engine() -> None:
    """Raises OptionError for an engine that is named and not there."""
    from fpgart.engine.choice import missing

    words = missing()
    if words:
        raise OptionError(words)


def check_faults() -> None:
    """Raises OptionError for a text that describes no faults."""
    from fpgart.board.fault_rules import FaultSyntaxError, parse

    try:
        if config.FAULTS.is_set:
            parse(config.FAULTS.value)
    except FaultSyntaxError as error:
        raise OptionError(f"{config.FAULTS.name}: {error}") from None


def check_kernel_check() -> None:
    """Raises OptionError if kernels are to be checked by an engine that cannot."""
    from fpgart.startup.checking import kernels_are_checked

    kernels_are_checked()


def check_models() -> None:
    """Raises OptionError for a file of models that does not exist; modules are looked for by the host's interpreter."""
    for name in config.MODELS.value:
        if option_paths.is_path(name) and not Path(name).is_file():
            raise OptionError(f"{config.MODELS.name}={config.MODELS.text}: there is no file {name}")


DEEPER: dict[str, Check] = {
    config.BOARD.name: check_boards,
    config.NO_INTERLEAVING.name: check_memories,
    config.ENGINE.name: check_engine,
    config.FAULTS.name: check_faults,
    config.TOPOLOGY.name: check_topology,
    config.CHECK.name: check_kernel_check,
    config.MODELS.name: check_models,
    config.USM_FAULTS.name: config.host_accesses_fail,
}
