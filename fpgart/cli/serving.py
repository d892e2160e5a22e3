# SPDX-License-Identifier: Apache-2.0
"""The commands `fpgart board ...`: boards of a service."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import click

from fpgart.base import config
from fpgart.board.catalogue import chosen_names, describe
from fpgart.cli.validation import refuse_wrong_options
from fpgart.engine.isolated import messages as m
from fpgart.serving import sockets
from fpgart.serving.connection import Connection
from fpgart.serving.sockets import ServiceError

SHOWN = 10
"""The digits of an identity that are shown to people."""


@click.group()
def board() -> None:
    """Serve boards to your programs; each board serves one program at a time (docs/serving.md).

    \b
    fpgart board serve --board usm_s10,a10_ref &
    fpgart run --served boards -- ./my_host
    """


def served(function: click.decorators.FC) -> click.decorators.FC:
    """Adds the option that selects the service."""
    return click.option(
        "--served",
        "name",
        metavar="NAME|PATH",
        envvar=config.SERVED.name,
        default=sockets.DEFAULT_NAME,
        show_default=True,
        help="Name of the service, or path of its socket.",
    )(function)


def numbered(function: click.decorators.FC) -> click.decorators.FC:
    """Adds the option that selects one of a service's boards."""
    return click.option(
        "--number",
        metavar="N",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Number of the board in `fpgart board status`.",
    )(function)


def stop_at_signals(stop: Callable[[], None]) -> None:
    """Makes a thread call `stop` at SIGINT or SIGTERM.

    A handler in Python runs when the main thread's system call returns, which a signal just before the call does not
    interrupt. The interpreter's handler in C therefore writes to a socket that the thread reads.
    """
    written, read = socket.socketpair()
    written.setblocking(False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: None)
    signal.set_wakeup_fd(written.detach())

    threading.Thread(target=stop_at_first, args=(read, stop), daemon=True).start()


def stop_at_first(read: socket.socket, stop: Callable[[], None]) -> None:
    """Calls `stop` at the first byte, and reads all others: at each signal the interpreter writes one."""
    read.recv(1)
    stop()
    while read.recv(1):
        continue


@board.command()
@click.option("--board", "boards", metavar="NAME,...", help="Boards (see `fpgart info`); default: FPGART_BOARD.")
@served
def serve(boards: str | None, name: str) -> None:
    """Serve boards to the programs of this user, until `fpgart board stop`, Ctrl-C or SIGTERM.

    Options of the engine apply to this command, not to the programs.
    """
    from fpgart.serving.service import Service

    if boards:
        os.environ[config.BOARD.name] = boards
    refuse_wrong_options({config.BOARD.name: "--board"} if boards else {})
    there = chosen_names()
    service = Service(sockets.path_of(name), there)
    stop_at_signals(service.stop)
    click.echo(f"{name}: {', '.join(there)}")
    service.run()


@board.command("list")
def list_services() -> None:
    """List the services of this user by name, with their boards."""
    for name in sockets.names():
        try:
            found = Connection(name).boards
        except ServiceError:
            continue  # it was killed
        for number, each in enumerate(found):
            click.echo(f"{name} {number} {each.name} {'in use' if each.holder else 'free'}")


@board.command()
@served
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def status(name: str, as_json: bool) -> None:
    """Show the process that holds each board, and the binary on the board."""
    found = Connection(name).boards
    if as_json:
        click.echo(json.dumps([each._asdict() for each in found]))
        return
    for number, each in enumerate(found):
        click.echo(f"{number} {each.name}: {in_words(each)}")


def in_words(found: m.ServedBoard) -> str:
    holder = f"held by process {found.holder} ({found.holder_name}) for {found.held_s} s" if found.holder else "free"
    if not found.identity:
        return f"{holder}, not programmed"
    times = "once" if found.programmed == 1 else f"{found.programmed} times"
    return f"{holder}, programmed {times}, with {found.identity[:SHOWN]} (kernels {', '.join(found.kernels)})"


@board.command()
@served
@numbered
@click.option("--force", is_flag=True, help="Reset the board while a program holds it; kernels of that program fail.")
def reset(name: str, number: int, force: bool) -> None:
    """Remove the program from a board."""
    Connection(name).ask(m.ResetBoard(number, force), m.Done)


@board.command()
@served
@numbered
@click.argument("file", metavar="FILE.aocx", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def program(name: str, number: int, file: Path) -> None:
    """Program a board that no program holds; programs that use the same .aocx do not program it again."""
    from fpgart.aocx import container as sections
    from fpgart.aocx.checks import check
    from fpgart.aocx.container import Container

    service = Connection(name)
    if number >= len(service.boards):
        raise ServiceError(f"service '{name}' has {len(service.boards)} boards, numbered from 0, and no board {number}")
    container = Container.decode(file.read_bytes())
    system = check(container, describe(service.boards[number].name))
    interleaving = tuple(memory.banks > 1 and memory.interleaved for memory in system.memories)
    kernels = tuple(kernel.name for kernel in system.kernels)
    service.ask(m.OpenBoard(number), m.Boards)
    service.ask(m.SetProgram(number, container.text(sections.RANDOM_HASH), kernels, interleaving), m.Done)
    service.close()


@board.command()
@served
def stop(name: str) -> None:
    """End a service; kernels that run there fail."""
    Connection(name).ask(m.StopService(), m.Done)
