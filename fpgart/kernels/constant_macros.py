# SPDX-License-Identifier: Apache-2.0
"""The macros that every compiler of OpenCL C predefines: constants of the language, and facts about the host.

The compiler expands them itself; conditions need to know which there are, and the integers among them.
"""

from __future__ import annotations

import platform
from typing import Final

from fpgart.kernels.preprocessing.literals import LIMITS

NO_INTEGER: Final = "0.0"
"""Stands for the value of a macro that no condition can use."""
_IN_MATH: Final = "E LOG2E LOG10E LN2 LN10 PI PI_2 PI_4 1_PI 2_PI 2_SQRTPI SQRT2 SQRT1_2"
_OF_FLOATS: Final = ("DIG", "MANT_DIG", "MAX_10_EXP", "MAX_EXP", "MIN_10_EXP", "MIN_EXP", "RADIX")
_FLOAT: Final = dict(zip(_OF_FLOATS, (6, 24, 38, 128, -37, -125, 2), strict=True))
_DOUBLE: Final = dict(zip(_OF_FLOATS, (15, 53, 308, 1024, -307, -1021, 2), strict=True))
_BYTES: Final = {"SHORT": 2, "INT": 4, "LONG": 8, "LONG_LONG": 16, "FLOAT": 4, "DOUBLE": 8, "POINTER": 8, "SIZE_T": 8,
                 "PTRDIFF_T": 8}  # fmt: skip
_OTHERS: Final = (
    "MAXFLOAT HUGE_VALF INFINITY NAN NULL FLT_MAX FLT_MIN FLT_EPSILON CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE"
)
_OF_DOUBLE: Final = "HUGE_VAL DBL_MAX DBL_MIN DBL_EPSILON"


def constant_macros(*, double: bool) -> dict[str, str]:
    """Returns their values by name. `double`: those of double, too."""
    numbers = {name: value.number for name, value in LIMITS.items() if name.isupper()}
    numbers |= {f"FLT_{name}": number for name, number in _FLOAT.items()}
    numbers |= {f"__SIZEOF_{name}__": size for name, size in _BYTES.items()}
    numbers |= {"__CHAR_BIT__": 8, "__INT_MAX__": (1 << 31) - 1, "__STDC__": 1, "__STDC_VERSION__": 199901}
    numbers |= {"__ORDER_LITTLE_ENDIAN__": 1234, "__ORDER_BIG_ENDIAN__": 4321, "__BYTE_ORDER__": 1234}
    numbers |= {"__linux__": 1, f"__{platform.machine()}__": 1, "_LP64": 1, "__FINITE_MATH_ONLY__": 0}
    others = [*_OTHERS.split(), *(f"M_{name}_F" for name in _IN_MATH.split())]
    if double:
        numbers |= {f"DBL_{name}": number for name, number in _DOUBLE.items() if name != "RADIX"}
        others += [*_OF_DOUBLE.split(), *(f"M_{name}" for name in _IN_MATH.split())]
    # The least long is no literal: its absolute value has no type.
    written = {name: str(number) if number >= 0 else f"({number + 1} - 1)" for name, number in numbers.items()}
    return dict.fromkeys(others, NO_INTEGER) | written
