# SPDX-License-Identifier: Apache-2.0
"""NamedTuple, whose classes are made in less time than those of typing.NamedTuple.

typing compiles the annotation of each field when a class is made, which no code of the driver needs: that took a tenth
of what the driver imports until it has a device. Type checkers see typing's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from collections import namedtuple

    class _Maker(type):
        def __new__(cls, name, bases, members):
            fields = members.pop("__annotations__", {})
            defaults = [members.pop(field) for field in fields if field in members]
            made = namedtuple(name, fields, defaults=defaults, module=members.pop("__module__"))
            for member, value in members.items():
                setattr(made, member, value)
            made.__annotations__ = fields
            return made

    NamedTuple = type.__new__(_Maker, "NamedTuple", (), {})
