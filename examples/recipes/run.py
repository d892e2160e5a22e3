# SPDX-License-Identifier: Apache-2.0
"""Run the recipes of this folder as far as this machine can, with a wheel: python examples/recipes/run.py WHEEL

What a service does in a container is done in a virtual environment: the steps of the files themselves, but for those
that install packages of the system. A Dockerfile is built where there is a Docker daemon; else its steps for pip
and fpgart run alone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OF_THE_SYSTEM = re.compile(r"\bapt-get\b|\buseradd\b")
SECONDS = 600


@dataclass(frozen=True)
class Place:
    """A virtual environment, a folder that looks like the repository, and the wheel to install."""

    environment: Path
    folder: Path
    package: str

    def variables(self, **more: str) -> dict[str, str]:
        path = os.pathsep.join([str(self.environment / "bin"), os.environ.get("PATH", os.defpath)])
        return {**os.environ, "PATH": path, "FPGART": self.package, **more}

    def run(self, *command: str, **more: str) -> None:
        """Raises RuntimeError with what the program said."""
        result = subprocess.run(
            command, cwd=self.folder, env=self.variables(**more), capture_output=True, text=True, timeout=SECONDS
        )
        if result.returncode:
            raise RuntimeError(f"{' '.join(command)[:80]}: {(result.stdout + result.stderr)[-600:]}")


def shell_steps(place: Place, steps: list[str], **more: str) -> int:
    """Run what is not about the system's packages; returns how many steps that were."""
    wanted = [step for step in steps if not OF_THE_SYSTEM.search(step)]
    for step in wanted:
        place.run("sh", "-euc", step, **more)
    return len(wanted)


def loaded(name: str) -> Any:
    return yaml.safe_load((HERE / name).read_text())


def github(place: Place) -> str:
    steps = [step["run"] for step in loaded("github-actions.yml")["jobs"]["host"]["steps"] if "run" in step]
    return f"{shell_steps(place, steps)} of {len(steps)} steps run"


def gitlab(place: Place) -> str:
    job = loaded("gitlab-ci.yml")["host"]
    boards = job["parallel"]["matrix"][0]["BOARD"]
    count = shell_steps(place, job["before_script"])
    count += sum(shell_steps(place, job["script"], BOARD=board) for board in boards)
    return f"{count} steps run, on {', '.join(boards)}"


def docker(place: Place) -> str:
    file = HERE / "Dockerfile"
    if shutil.which("docker") and subprocess.run(["docker", "info"], capture_output=True).returncode == 0:
        shutil.copy2(place.package, place.folder)
        place.run("docker", "build", "--tag", "fpgart-recipe", "--file", str(file), ".")
        return "image built"
    commands = [line for line in file.read_text().replace("\\\n", "").splitlines() if line.startswith("RUN ")]
    steps = [step.strip() for command in commands for step in command[len("RUN ") :].split("&&")]
    steps = [step for step in steps if not step.startswith("rm ")]
    return f"no Docker daemon here: {shell_steps(place, steps)} of {len(steps)} steps run, no image built"


def conda(place: Place) -> str:
    file = loaded("environment.yml")
    program = next(filter(None, map(shutil.which, ("micromamba", "mamba", "conda"))), None)
    if program is None:
        return f"no conda here: {len(file['dependencies'])} entries read, nothing installed"
    place.run(
        program,
        "env",
        "create",
        "--yes",
        "--prefix",
        str(place.folder / "conda"),
        "--file",
        str(HERE / "environment.yml"),
    )
    return "environment made"


def cmake(place: Place) -> str:
    shown = subprocess.run(
        [place.environment / "bin" / "fpgart", "libs", "--cmake-dir"], capture_output=True, text=True, check=True
    )
    place.run("cmake", "-S", str(HERE / "cmake"), "-B", "build", f"-Dfpgart_DIR={shown.stdout.strip()}")
    place.run("cmake", "--build", "build")
    place.run("ctest", "--test-dir", "build", "--output-on-failure", "--no-tests=error")
    return "find_package, build, 4 tests of CTest"


def pytest(place: Place) -> str:
    place.run(str(place.environment / "bin" / "pip"), "install", "--quiet", "pytest", "numpy")
    shutil.copytree(ROOT / "examples" / "testing-a-host", place.folder / "testing-a-host")
    place.run("sh", "-euc", "cd testing-a-host && python -m pytest -q -p no:cacheprovider")
    return "examples/testing-a-host passes"


RECIPES: dict[str, Callable[[Place], str]] = {
    "GitHub Actions": github,
    "GitLab": gitlab,
    "Docker": docker,
    "CMake": cmake,
    "pytest": pytest,
    "conda": conda,
}


def outcomes(package: str, work: Path) -> Iterator[tuple[str, str, bool]]:
    environment = work / "environment"
    venv.create(environment, with_pip=True)
    for number, (name, recipe) in enumerate(RECIPES.items()):
        folder = work / str(number)
        folder.mkdir()
        (folder / "examples").symlink_to(ROOT / "examples")
        try:
            yield name, recipe(Place(environment, folder, package)), True
        except (RuntimeError, subprocess.SubprocessError) as error:
            yield name, f"FAILED: {error}", False


def main() -> int:
    whole = True
    package = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="fpgart-recipes-") as folder:
        print("| recipe | here |\n|---|---|")
        for name, words, right in outcomes(package, Path(folder)):
            print(f"| {name} | {words} |", flush=True)
            whole = whole and right
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
