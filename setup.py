# SPDX-License-Identifier: Apache-2.0
"""Compile the driver as part of pip's build; everything else is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))


class BuildDriver(build_ext):
    """Runs build_icd.py instead of compiling one extension."""

    def run(self):
        from build_icd import BuildError, build, record_interpreter

        in_place = self.inplace or self.editable_mode
        into = ROOT / "fpgart" if in_place else Path(self.build_lib) / "fpgart"
        try:
            build(into)
            if in_place:
                record_interpreter(into)
        except BuildError as error:
            raise SystemExit(f"fpgart: {error}") from None

    def get_outputs(self):
        made = Path(self.build_lib) / "fpgart"
        return [
            str(path)
            for pattern in (
                "*.so",
                "*.a",
                "c-host",
                "fpgart-board",
                "include/*.h",
                "include/CL/*.h",
                "include/CL/*.hpp",
            )
            for path in made.glob(pattern)
        ]

    def get_output_mapping(self):
        return {}


class TaggedWheel(bdist_wheel):
    """Tags a wheel for the series of Python whose drivers it contains, and for no other: pip refuses it elsewhere."""

    def get_tag(self):
        from build_icd import pythons

        *_, platform = super().get_tag()
        series = [tuple(map(int, python.series.split("."))) for python in pythons()]
        tags = ".".join(f"cp{major}{minor}" for major, minor in sorted(series))
        return tags, tags, platform


setup(
    ext_modules=[Extension("fpgart._native", sources=[], py_limited_api=True)],
    cmdclass={"build_ext": BuildDriver, "bdist_wheel": TaggedWheel},
)
