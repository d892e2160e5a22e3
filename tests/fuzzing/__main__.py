"""Has every reader read damaged inputs: `python -m fuzzing --help`. The exit status is 1 if one of them failed."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from fuzzing.mutation import Mutator
from fuzzing.readers import READERS
from fuzzing.trial import Fault, Progress, trial, try_one


def main() -> int:
    asked = arguments()
    if asked.input is not None:
        return once(asked.reader[0], asked.seed, asked.input, asked.save)
    faults = []
    print(f"{'reader':24} {'inputs':>9} {'bytes':>13} {'refused':>9} {'calls':>9}")
    for name in asked.reader or READERS:
        told, found = search(name, asked.seed, asked.bytes, asked.seconds, asked.faults)
        faults += found
        print(f"{name:24} {told.inputs:9} {told.bytes:13} {told.refused:9} {told.calls:9}", flush=True)
        for fault in found:
            print(fault, flush=True)
    return int(bool(faults))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument("--reader", action="append", choices=list(READERS), help="only this one; may be repeated")
    parser.add_argument("--bytes", type=int, default=10_000_000, help="how much each of them reads")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="how long each of them reads at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=5, help="after how many faults a reader is left alone")
    parser.add_argument("--input", type=int, help="read only the input of that number, with --reader and --seed")
    parser.add_argument("--save", type=Path, help="with --input: also write it into this file")
    asked = parser.parse_args()
    if asked.input is not None and not asked.reader:
        parser.error("--input needs --reader")
    return asked


def search(reader: str, seed: int, most_bytes: int, seconds: float, most_faults: int) -> tuple[Progress, list[Fault]]:
    """Trials of a reader, each of which goes on behind the fault that ended the one before."""
    total, faults, begin = Progress(), [], 0
    end = time.monotonic() + seconds
    while total.bytes < most_bytes and time.monotonic() < end and len(faults) < most_faults:
        told, fault = trial(reader, seed, most_bytes - total.bytes, end - time.monotonic(), begin)
        total.inputs += told.inputs
        total.bytes += told.bytes
        total.refused += told.refused
        total.calls = max(total.calls, told.calls)
        if fault is None:
            break
        faults.append(fault)
        begin = fault.input + 1
    return total, faults


def once(reader: str, seed: int, number: int, file: Path | None) -> int:
    data = Mutator(READERS[reader].corpus(), READERS[reader].words).input(seed, number)
    if file is not None:
        file.write_bytes(data)
    told = Progress()
    words = try_one(reader, data, told)
    print(words or f"{len(data)} bytes, {'refused' if told.refused else 'read'} in {told.calls} calls")
    return int(bool(words))


if __name__ == "__main__":
    sys.exit(main())
