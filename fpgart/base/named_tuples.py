# SPDX-License-Identifier: Apache-2.0
"""NamedTuple, whose classes are made in a tenth of the time that those of typing.NamedTuple and collections take.

Those compile a constructor for each class, and typing also each annotation. Here the first object of a class has the
constructor compiled, because a program makes objects of few of the driver's classes. Type checkers see typing's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from collections import _tuplegetter, namedtuple

    class _Signature:
        """Makes inspect.signature() from a class's fields, because its constructor may not have been generated yet."""

        def __get__(self, record, owner):
            from inspect import Parameter, Signature
            from typing import get_type_hints

            hints, defaults, kind = get_type_hints(owner), owner._field_defaults, Parameter.POSITIONAL_OR_KEYWORD
            return Signature(
                Parameter(name, kind, default=defaults.get(name, Parameter.empty), annotation=hints[name])
                for name in owner._fields
            )

    class _Record(tuple):
        """The base of all classes; its methods are those of collections.namedtuple."""

        __slots__ = ()
        __signature__ = _Signature()

        def __new__(cls, *values, **named):
            owner = next(each for each in cls.__mro__ if "_fields" in vars(each))
            defaults = owner._field_defaults.values()
            whole = namedtuple(owner.__name__, owner._fields, defaults=defaults, module=owner.__module__)
            owner.__new__ = staticmethod(whole.__new__)
            return owner.__new__(cls, *values, **named)

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, **named):
            return self.__class__(**self._asdict() | named)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            return (
                f"{self.__class__.__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"
            )

        def __getnewargs__(self):
            return tuple(self)

    class _Maker(type):
        def __new__(cls, name, bases, members):
            fields = tuple(members.get("__annotations__", {}))
            defaults = {field: members[field] for field in fields if field in members}
            getters = {field: _tuplegetter(place, None) for place, field in enumerate(fields)}
            own = {"__slots__": (), "_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
            return type(name, (_Record,), members | own | getters)

    NamedTuple = type.__new__(_Maker, "NamedTuple", (), {})
