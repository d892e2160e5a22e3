"""Tries one reader in a process of its own, which may take so much memory and so long for an input."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from calls import calls_of

from fuzzing.mutation import LARGEST, Mutator
from fuzzing.readers import READERS

MEMORY = 1 << 30
"""Bytes that reading may take besides what the process has when it begins."""
MOST_CALLS = 5_000_000
"""Calls that reading an input of up to LARGEST bytes may make; longer ones may make more. 0.05 to 0.2 us each."""
HANGS = 30
"""Seconds of a processor after which an input is given up."""
LOOK = 10
"""Seconds between looks at a process that says nothing."""


@dataclass(slots=True)
class Progress:
    """The progress of a trial: the inputs and bytes that were read, the inputs refused, and the most calls for one."""

    inputs: int = 0
    bytes: int = 0
    refused: int = 0
    calls: int = 0


@dataclass(slots=True)
class Fault:
    """An input that was not read as it should be; `--input` makes it again."""

    reader: str
    seed: int
    input: int
    words: str

    def __str__(self) -> str:
        return f"{self.reader} --seed {self.seed} --input {self.input}: {self.words}"


def trial(reader: str, seed: int, most_bytes: int, seconds: float, begin: int = 0) -> tuple[Progress, Fault | None]:
    """Read damaged inputs from number `begin` on until there were enough bytes, or the seconds are over, or a fault."""
    here, there = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(
        target=_read_all, args=(there, reader, seed, most_bytes, seconds, begin), daemon=True
    )
    process.start()
    there.close()
    told, number = Progress(), begin
    try:
        used = 0.0
        while here.poll(LOOK) or seconds_of(process.pid) - used < HANGS:
            if not here.poll():
                continue
            used = seconds_of(process.pid)
            message = here.recv()
            if isinstance(message, Fault):
                return told, message
            if message is None:
                process.join()
                return told, None
            number, told = message
        words = f"it takes more than {HANGS} seconds of a processor"
        process.kill()
    except EOFError:
        process.join()
        words = f"the process ended with {process.exitcode}"
    return told, Fault(reader, seed, number, words)


def seconds_of(process: int | None) -> float:
    """Of a processor, that a process has used; 0 for one that has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _read_all(out: Connection, reader: str, seed: int, most_bytes: int, seconds: float, number: int) -> None:
    mutator = Mutator(READERS[reader].corpus(), READERS[reader].words)
    limit_memory()
    told = Progress()
    end = time.monotonic() + seconds
    while told.bytes < most_bytes and time.monotonic() < end:
        data = mutator.input(seed, number)
        out.send((number, told))
        words = try_one(reader, data, told)
        if words:
            out.send((number, told))
            out.send(Fault(reader, seed, number, words))
            return
        number += 1
    out.send((number, told))
    out.send(None)


def limit_memory() -> None:
    """More than MEMORY is a MemoryError from now on."""
    with open("/proc/self/statm") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, resource.RLIM_INFINITY))


def try_one(reader: str, data: bytes, told: Progress) -> str:
    """Reads one input; returns what is wrong with how it was read, "" for nothing."""
    words = ""

    def read() -> None:
        nonlocal words
        try:
            READERS[reader].read(data)
        except READERS[reader].refusals:
            told.refused += 1
        except BaseException:
            words = traceback.format_exc()

    calls = calls_of(read)
    told.inputs += 1
    told.bytes += len(data)
    told.calls = max(told.calls, calls)
    most = MOST_CALLS * max(1.0, len(data) / LARGEST)
    return words or (f"{len(data)} bytes took {calls} calls" if calls > most else "")
