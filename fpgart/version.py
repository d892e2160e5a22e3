# SPDX-License-Identifier: Apache-2.0
"""The version of the package, by semantic versioning (docs/releasing.md): everything that names one takes it from here.

pyproject.toml and build_icd.py read it, too.
"""

__version__ = "1.0.0"
