# SPDX-License-Identifier: Apache-2.0
"""The SDK folder, which Makefiles and CMake scripts of hosts for Intel's boards expect.

- bin: aocl, aoc, clocl, cl6x and icpx, as programs
- host/include: CL/ and aocl_mmd.h
- host/linux64/lib: libOpenCL.so (this system's loader) and libalteracl.a
- board/<name>: board_env.xml and board_spec.xml, one board package for each board
- init_opencl.sh: the lines to export, for `source`
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from fpgart.base import config
from fpgart.base.digests import sha1
from fpgart.base.registration import LIBRARY, PACKAGE, user_folder
from fpgart.base.user_error import UserError
from fpgart.board import catalogue
from fpgart.version import __version__

INTEL_VERSION = "20.4.0"
"""The release of Intel's SDK whose tools these imitate; scripts compare it."""
BOARDS = Path(catalogue.FOLDER)
HEADERS = PACKAGE / "include"
CMAKE = PACKAGE / "share" / "cmake" / "fpgart"
PKG_CONFIG = PACKAGE / "share" / "pkgconfig"
HOST_LIBRARY = PACKAGE / "libalteracl.a"
STAMP = "fpgart-sdk.json"
TOOLS = {"aocl": "aocl", "aoc": "aoc", "clocl": "clocl", "cl6x": "cl6x", "icpx": "icpx"}
"""The programs, and the modules of fpgart.sdk whose main() they call."""
LOADER = "libOpenCL.so.1"
OF_OLDER_RELEASES = ("acl_emulator_kernel_rt", "alterahalmmd")
"""Libraries that Makefiles name, and whose functions hosts do not call: archives without members."""
EMPTY_ARCHIVE = "!<arch>\n"
PROGRAM = """\
#!/bin/sh
INTELFPGAOCLSDKROOT={root}
export INTELFPGAOCLSDKROOT
# Nothing is imported from the folder in which a program is started.
exec {python} -c 'import sys
sys.path[:] = filter(None, sys.path)
try:
    from fpgart.sdk.{module} import main
except KeyboardInterrupt:
    sys.exit(130)
main()' "$@"
"""
BOARD_ENV = """\
<?xml version="1.0"?>
<board_env version="{version}" name="fpgart_{name}">
  <hardware dir=".." default="{name}"/>
  <platform name="linux64">
    <mmdlib></mmdlib>
    <linkflags></linkflags>
    <linklibs></linklibs>
    <utilbindir></utilbindir>
  </platform>
</board_env>
"""


class SdkError(UserError):
    """Raised if the folder cannot be created; the sentence says why."""


def include_folder(root: Path) -> Path:
    return root / "host" / "include"


def library_folder(root: Path) -> Path:
    return root / "host" / "linux64" / "lib"


def default_root() -> Path:
    """Returns the folder of `fpgart run` and the commands that have no other.

    There is one for each installation. Scripts take the version from the name of the folder above. Raises SdkError.
    """
    try:
        place = user_folder().parent
    except RuntimeError as error:
        raise SdkError(f"no folder for the SDK: {error}") from None
    installation = sha1(str(PACKAGE).encode()).hexdigest()[:12]
    return place / "sdk" / installation / INTEL_VERSION / "hld"


def system_loader() -> Path | None:
    """Returns the OpenCL loader of this system, where linkers look for it."""
    multiarch = getattr(sys.implementation, "_multiarch", "")  # as sysconfig says, which reads a large module for it
    places = [f"/usr/lib/{multiarch}", f"/lib/{multiarch}"] if multiarch else []
    places += ["/usr/local/lib", "/usr/lib64", "/lib64", "/usr/lib", "/lib"]
    return next((file for place in places if (file := Path(place) / LOADER).exists()), None)


def lay_out(root: Path) -> Path:
    """Creates the folder, or updates it; returns its absolute path. Raises SdkError."""
    root = root.absolute()
    loader = system_loader() or LIBRARY
    stamp = root / STAMP
    try:
        state = _state(root, loader)
        if not stamp.exists() or stamp.read_text() != state:
            _write_all(root, loader)
            _put(stamp, state)
    except OSError as error:
        raise SdkError(f"{error.filename or root}: {error.strerror}") from None
    return root


def _state(root: Path, loader: Path) -> str:
    """Returns the facts on which a folder's contents depend."""
    layout = sha1(Path(__file__).read_bytes()).hexdigest()
    facts = {"root": root, "package": PACKAGE, "version": __version__, "python": sys.executable, "loader": loader}
    return json.dumps({**{name: str(value) for name, value in facts.items()}, "layout": layout})


def _write_all(root: Path, loader: Path) -> None:
    if not LIBRARY.exists() or not HEADERS.exists():
        raise SdkError(f"{LIBRARY} or {HEADERS} is missing: build the driver (pip install ., or make build)")
    for program, module in TOOLS.items():
        text = PROGRAM.format(root=shlex.quote(str(root)), python=shlex.quote(sys.executable), module=module)
        _put(root / "bin" / program, text, executable=True)
    for headers in HEADERS.iterdir():
        _link(include_folder(root) / headers.name, headers)
    libraries = library_folder(root)
    _link(libraries / "libOpenCL.so", loader)
    _link(libraries / LOADER, loader)
    _link(libraries / HOST_LIBRARY.name, HOST_LIBRARY)
    for name in OF_OLDER_RELEASES:
        _put(libraries / f"lib{name}.a", EMPTY_ARCHIVE)
    for spec in sorted(BOARDS.glob("*.xml")):
        folder = root / "board" / spec.stem
        _put(folder / "board_env.xml", BOARD_ENV.format(version=INTEL_VERSION, name=spec.stem))
        _put(folder / "board_spec.xml", spec.read_text())
    _put(root / "init_opencl.sh", export_lines(root))


def _put(file: Path, text: str, *, executable: bool = False) -> None:
    """Writes a file atomically: programs that run meanwhile read the old one or the new one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.{os.getpid()}")
    new.write_bytes(os.fsencode(text))
    new.chmod(0o755 if executable else 0o644)
    new.replace(file)


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    new = link.with_name(f".{link.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(link)


def variables(root: Path, before: Mapping[str, str], board: str) -> dict[str, str]:
    """Returns the variables by which a program finds the folder; `before` is the environment so far.

    The board package is the board's, or that of the default board if the folder does not have it.
    """
    first = board.split(",")[0] if board else config.BOARD.default[0]
    package = root / "board" / (first if (BOARDS / f"{first}.xml").exists() else config.BOARD.default[0])
    made = {
        "INTELFPGAOCLSDKROOT": str(root),
        "ALTERAOCLSDKROOT": str(root),
        "AOCL_BOARD_PACKAGE_ROOT": str(package),
        "PATH": _first(root / "bin", before.get("PATH", os.defpath)),
    }
    if system_loader() is None:  # the driver itself has the loader's name
        made["LD_LIBRARY_PATH"] = _first(library_folder(root), before.get("LD_LIBRARY_PATH", ""))
    return made


def _first(folder: Path, path: str) -> str:
    """Returns a search path that begins with a folder."""
    return os.pathsep.join([str(folder), *(each for each in path.split(os.pathsep) if each and each != str(folder))])


def named_root() -> Path | None:
    """Returns the folder that the environment names, if fpgart created it; else None, as for Intel's."""
    named = os.environ.get("INTELFPGAOCLSDKROOT", "")
    return Path(named) if named and (Path(named) / STAMP).exists() else None


def sdk_variables(board: str = "") -> dict[str, str]:
    """Returns the variables of the folder for `fpgart run`; none if it cannot be created.

    A folder of fpgart's that the environment names already stays. A program without these variables still runs, so no
    error is reported.
    """
    try:
        root = lay_out(named_root() or default_root())
        return variables(root, os.environ, board or os.environ.get("FPGART_BOARD", ""))
    except SdkError:
        return {}


def export_lines(root: Path) -> str:
    made = variables(root, {"PATH": ""}, os.environ.get("FPGART_BOARD", ""))
    path = made.pop("PATH")
    libraries = made.pop("LD_LIBRARY_PATH", "")
    lines = ["export " + " ".join(f"{name}={shlex.quote(value)}" for name, value in made.items())]
    lines.append(f'export PATH={shlex.quote(path)}:"$PATH"')
    if libraries:
        lines.append(f'export LD_LIBRARY_PATH={shlex.quote(libraries)}:"$LD_LIBRARY_PATH"')
    return "\n".join(lines) + "\n"
