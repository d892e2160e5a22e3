#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance tests on the boards of a service (make served).

A board belongs to one process at a time. The tests whose hosts are threads of pytest therefore run in one pytest
process, and those whose hosts are programs of their own in another one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
BOARDS = "usm_s10,usm_s10,a10_ref,a10_ref,hetero,k2h,k2h_low,a10_small,soc_a10"
"""As many as the hosts of one test name, the usual one first."""
IN_PYTEST = ("test_contract.py", "test_contract_devices.py", "test_fuzz_machine.py", "test_il.py")
NAME = "conformance"


@contextmanager
def service(environment: dict[str, str]) -> Iterator[None]:
    """A service with all boards, from when it accepts hosts."""
    command = [sys.executable, "-m", "fpgart.cli", "board", "serve", "--served", NAME, "--board", BOARDS]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if not process.stdout.readline().startswith(f"{NAME}: "):
            sys.exit(f"the service did not start (status {process.wait()})")
        try:
            yield
        finally:
            process.terminate()


def main(options: list[str]) -> int:
    """`options`: for pytest. The number of pytest processes that failed."""
    programs = sorted(file.name for file in FOLDER.glob("test_*.py") if file.name not in IN_PYTEST)
    with tempfile.TemporaryDirectory() as runtime:
        environment = {**os.environ, "XDG_RUNTIME_DIR": runtime}
        with service(environment):
            served = {**environment, "FPGART_SERVED": NAME}
            return sum(
                bool(
                    subprocess.run(
                        [sys.executable, "-m", "pytest", *options, *files], cwd=FOLDER, env=served
                    ).returncode
                )
                for files in (IN_PYTEST, programs)
            )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
