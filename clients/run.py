# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of fpgart, run on it and, where they can be, on its bare engine (make clients).

What passes on the engine has to pass on fpgart, too; the exit status is 1 if something does not. Recipes
(clients/recipes) describe most of them. Programs that are not installed, and sources that are not in the folder of
--sources, are named with the command that brings them, and left out.
Other recipes (--recipes) run alone, without the test suites in suites.py.

With --check they run under FPGART_CHECK instead, on fpgart alone, and what was found is listed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from client import FPGART, ROOT, Client, Missing, Outcome, environment_of
from hosts import client_of
from measured import NoPlace, engine_version, today
from outcomes import Row, write_rows
from recipe import RecipeError, read_all
from suites import SUITES

LIBRARY = ROOT / "fpgart" / "libfpgart.so"
RECIPES = ROOT / "clients" / "recipes"


def checked(client: Client, families: str) -> None:
    """Runs a client under FPGART_CHECK, and prints the number of findings of each kind, with the words of the first."""
    with tempfile.TemporaryDirectory(prefix="fpgart-clients-") as work:
        folder = Path(work)
        file = folder / "findings"
        more = {"FPGART_CHECK": families, "FPGART_FINDINGS": str(file), "FPGART_LOG": str(folder / "log")}
        _, engine = client.engine()
        outcome = client.run({**environment_of(FPGART, LIBRARY, engine, folder), **more}, folder)
        lines = file.read_text().splitlines() if file.exists() else []
    print(f"{client.name:<20} {outcome}; {len(lines)} findings", flush=True)
    for check, reason in outcome.failed.items():
        print(f"    fails: {check}: {reason}")
    found = [json.loads(line) for line in lines]
    kinds = Counter((finding["check"], finding["rule"]) for finding in found)
    for (family, rule), count in sorted(kinds.items()):
        first = next(f for f in found if (f["check"], f["rule"]) == (family, rule))
        print(f"    {family}: {rule}: {count} times, such as {first['object']}: {first['words']}")


def outcomes_of(client: Client, isolate: bool) -> dict[str, Outcome]:
    """Returns the outcomes by driver, fpgart's first. Raises Missing."""
    name, engine = client.engine()
    found = {}
    for driver, library in [(FPGART, LIBRARY)] + [(name, engine)] * client.on_engine:
        with tempfile.TemporaryDirectory(prefix="fpgart-clients-") as work:
            folder = Path(work)
            environment = environment_of(driver, library, engine, folder)
            if isolate:
                environment["FPGART_ISOLATE"] = "1"
            found[driver] = client.run(environment, folder)
    return found


def compared(client: Client, outcomes: dict[str, Outcome]) -> int:
    """Prints the outcome of a client. Returns the number of checks that fail on fpgart only."""
    print(f"{client.name:<20} {'; '.join(f'{driver}: {outcome}' for driver, outcome in outcomes.items())}", flush=True)
    ours = outcomes[FPGART].failed
    elsewhere = {check for driver, outcome in outcomes.items() if driver != FPGART for check in outcome.failed}
    lost = {check: reason for check, reason in ours.items() if check not in elsewhere}
    for check, reason in lost.items():
        print(f"    fails on fpgart only: {check}\n        " + reason.replace("\n", "\n        "))
    return len(lost)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="CLIENT", help="default: all")
    parser.add_argument("--recipes", type=Path, default=RECIPES, help="folder of recipes")
    parser.add_argument("--sources", type=Path, default=ROOT / "build" / "sources", help="folder of git repositories")
    parser.add_argument("--page", type=Path, help="the page whose table gets the outcomes")
    parser.add_argument("--list", action="store_true", help="list the clients, and what each needs")
    parser.add_argument("--isolate", action="store_true", help="run the kernels in a process of their own")
    parser.add_argument("--check", metavar="FAMILIES", help="families of FPGART_CHECK: list findings instead")
    options = parser.parse_args()
    try:
        clients = [client_of(recipe, options.sources) for recipe in read_all(options.recipes)]
    except RecipeError as error:
        parser.error(str(error))
    if options.recipes.resolve() == RECIPES:
        clients += SUITES
    if unknown := set(options.names) - {client.name for client in clients}:
        parser.error(f"{', '.join(sorted(unknown))}: not one of {', '.join(client.name for client in clients)}")
    rows: list[Row] = []
    worse = 0
    for client in clients:
        if options.list:
            print(f"{client.name:<20} {client.source or 'installed by this program'}: {client.words}")
            continue
        if options.names and client.name not in options.names:
            rows.append(Row(client))
            continue
        try:
            if options.check:
                checked(client, options.check)
                continue
            outcomes = outcomes_of(client, options.isolate)
        except Missing as missing:
            print(f"{client.name:<20} left out: {missing}", flush=True)
            rows.append(Row(client))
            continue
        worse += compared(client, outcomes)
        rows.append(Row(client, outcomes, engine_version(client.engine()[1]), today()))
    if options.page and not options.check and not options.list:
        try:
            write_rows(options.page, rows)
        except NoPlace as error:
            parser.error(str(error))
    return int(worse > 0)


if __name__ == "__main__":
    sys.exit(main())
