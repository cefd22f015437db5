"""The registry of the methods that expressions call on values, by the kind of the value."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeVar

from localcdap.java.text_units import in_units
from localcdap.plugin_lib.jexl.functions.registry import Function, Overload, parse_signature

_F = TypeVar("_F", bound=Callable[..., Any])

METHODS: Final[dict[tuple[str, str], Function]] = {}
"""Methods by kind of value (see :func:`get_kind`) and name."""
_KINDS: Final = {str: "text", bool: "boolean", int: "number", float: "number", Decimal: "number"}


def get_kind(value: Any) -> str:
    """Return the kind of a value, which decides its methods: text, number, boolean, list, map, date, or
    any.
    """
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    if isinstance(value, Mapping):
        return "map"
    if isinstance(value, list | tuple | set | range):
        return "list"
    return "date" if isinstance(value, datetime.date | datetime.time) else "any"


class MethodsOf:
    """The decorator that declares the methods of one kind of value.

    The signature is that of :mod:`localcdap.plugin_lib.jexl.functions.registry`, without the value
    itself.

    :param counts_units: whether the methods count or cut characters, which Java does in UTF-16 units.
    """

    def __init__(self, kind: str, *, counts_units: bool = False) -> None:
        self._kind = kind
        self._counts_units = counts_units

    def __call__(self, signature: str, *names: str) -> Callable[[_F], _F]:
        def declare(run: _F) -> _F:
            kinds, rest, returns = parse_signature(signature)
            called = in_units(run) if self._counts_units else run
            never_null = not returns.endswith("?")
            overload = Overload(
                ("O", *kinds), rest, returns[0], never_null, called, self._counts_units
            )
            for name in names:
                function = METHODS.setdefault((self._kind, name), Function(self._kind, name))
                function.overloads.append(overload)
            return run

        return declare
