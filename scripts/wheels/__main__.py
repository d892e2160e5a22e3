# SPDX-License-Identifier: Apache-2.0
"""Build the source distribution and a wheel for any Linux, install the wheel in all kinds of Pythons, and run hosts.

`make wheels`. The table that is printed stands in docs/installing.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import environments
import making


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=Path("dist"), help="folder for what is built (default: dist)")
    parser.add_argument("--machine", action="append", help="x86_64 or aarch64; may be repeated (default: this one)")
    parser.add_argument("--python", action="append", default=[], help="serve the series of this interpreter, too")
    parser.add_argument("--only-build", action="store_true", help="try the wheel nowhere")
    parser.add_argument("--wheel", type=Path, help="build nothing: try this wheel")
    given = parser.parse_args()
    if given.wheel:
        wheels = [given.wheel.resolve()]
    else:
        given.into.mkdir(parents=True, exist_ok=True)
        source = making.source_distribution(given.into.resolve())
        machines = given.machine or [making.MACHINE]
        wheels = [making.wheel(source, given.into.resolve(), machine, given.python) for machine in machines]
    for made in wheels:
        print(f"{made.name}: {made.stat().st_size / 1e6:.2f} MB", flush=True)
    if given.only_build:
        return 0
    for_here = next(made for made in wheels if making.MACHINE in made.name)
    with tempfile.TemporaryDirectory(prefix="fpgart-wheels-") as folder:
        return environments.try_all(for_here, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
