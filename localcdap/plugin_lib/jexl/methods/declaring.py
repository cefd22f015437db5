"""How methods of values are declared: as functions whose first argument is the value."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeVar

from localcdap.plugin_lib.jexl.functions.registry import Function, Overload, signature_parts

_F = TypeVar("_F", bound=Callable[..., Any])

METHODS: Final[dict[tuple[str, str], Function]] = {}
"""Methods by kind of value (see :func:`kind_of`) and name."""
_KINDS: Final = {str: "text", bool: "boolean", int: "number", float: "number", Decimal: "number"}


def kind_of(value: Any) -> str:
    """Which methods a value has: text, number, boolean, list, map, date, or any."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    if isinstance(value, Mapping):
        return "map"
    if isinstance(value, list | tuple | set | range):
        return "list"
    return "date" if isinstance(value, datetime.date | datetime.time) else "any"


class MethodsOf:
    """Declares the methods of one kind of value; an instance is the decorator.

    A signature is that of :mod:`localcdap.plugin_lib.jexl.functions.registry` without the value itself.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __call__(self, signature: str, *names: str) -> Callable[[_F], _F]:
        def declare(run: _F) -> _F:
            kinds, rest, returns = signature_parts(signature)
            overload = Overload(("O", *kinds), rest, returns[0], not returns.endswith("?"), run)
            for name in names:
                function = METHODS.setdefault((self._kind, name), Function(self._kind, name))
                function.overloads.append(overload)
            return run

        return declare
