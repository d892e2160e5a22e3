# SPDX-License-Identifier: Apache-2.0
"""Write docs/options.md, the table of environment variables, from fpgart/config.py.

python scripts/generate_options.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "options.md"
HEAD = """# Environment variables

Made by scripts/generate_options.py from fpgart/config.py; do not edit. `fpgart info` shows them with their values.
A value that an option does not take is an error that lists those it does.

| variable | default | meaning |
|---|---|---|
"""


def table() -> str:
    sys.path.insert(0, str(ROOT))
    from fpgart import config

    rows = []
    for option in config.OPTIONS.values():
        default = option.default
        shown = ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
        rows.append(f"| `{option.name}` | {f'`{shown}`' if shown else ''} | {option.sentence.replace('|', ' ')} |\n")
    return HEAD + "".join(rows)


def main() -> int:
    if "--check" in sys.argv[1:]:
        return int(TARGET.read_text() != table())
    TARGET.write_text(table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
