"""The registry of functions: their declaration, and their call with the arguments that Java would accept.

A signature is written ``"S I -> S"``: the kinds of the arguments, the kind of the result. Kinds:

====  ==============================================  ====  =========================================
S     text or null                                    O     anything
I L   whole number of 32 or 64 bits, not null         i l   the same or null
D     number as a double, not null                    N     any number or null
B     boolean, not null                               M     decimal or null
C     a text of one character                         Y     bytes or null
d     date or null (or its text)                      t     time or null (or its text)
T     datetime without zone or null (or its text)     Z     timestamp (a datetime) or null
A     list or null                                    J     JSON: anything that JSON has
====  ==============================================  ====  =========================================

``S*`` at the end accepts any number of further arguments. Results have the same letters; ``?`` marks a
primitive that may be null, ``!`` an object that never is.
"""

from __future__ import annotations

import datetime
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NoReturn, TypeVar

from localcdap.java import numbers
from localcdap.java.text_units import in_units
from localcdap.plugin_lib.jexl.errors import EvaluationError, type_name
from localcdap.plugin_lib.jexl.functions.date_texts import read_date, read_datetime, read_time

_F = TypeVar("_F", bound=Callable[..., Any])

PRIMITIVE: Final = frozenset("BILDF")
"""The kinds of results that are never null unless marked."""

_REJECTED: Final = object()


@dataclass(frozen=True, slots=True)
class Overload:
    """One form of a function."""

    kinds: tuple[str, ...]
    rest: str | None
    """The kind of any number of further arguments; None if there are none."""
    returns: str
    never_null: bool
    run: Callable[..., Any]
    counts_units: bool = False
    """Whether the result may have halves of characters, see :mod:`localcdap.java.text_units`."""

    def accepts_count(self, count: int) -> bool:
        return count == len(self.kinds) or (self.rest is not None and count >= len(self.kinds))

    def accept(self, arguments: tuple[Any, ...]) -> list[Any] | None:
        """Return the arguments converted for the function, or None if one does not fit."""
        taken = []
        for at, value in enumerate(arguments):
            kind = self.kinds[at] if at < len(self.kinds) else self.rest
            assert kind is not None
            fitting = _ACCEPT[kind](value)
            if fitting is _REJECTED:
                return None
            taken.append(fitting)
        return taken


@dataclass(slots=True)
class Function:
    """A function of a namespace with all its overloads."""

    namespace: str
    name: str
    overloads: list[Overload] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        return f"{self.namespace}:{self.name}" if self.namespace else self.name

    def find_overloads(self, count: int) -> list[Overload]:
        """Return the overloads that accept this number of arguments."""
        return [overload for overload in self.overloads if overload.accepts_count(count)]

    @property
    def usage(self) -> str:
        """The overloads as text: ``string:left(text, length)``."""
        shown = []
        for overload in self.overloads:
            names = list(inspect.signature(overload.run).parameters)
            if overload.rest is not None:
                names[-1] += "…"
            shown.append(f"{self.full_name}({', '.join(names)})")
        return " or ".join(dict.fromkeys(shown))

    def build_caller(self, count: int) -> Callable[..., Any]:
        """Return a callable for this number of arguments. It chooses the overload and raises only
        EvaluationError.
        """
        forms = self.find_overloads(count)
        if len(forms) == 1:
            return _call_one(self, forms[0], count)
        return _call_fitting(self, forms)


FUNCTIONS: Final[dict[tuple[str, str], Function]] = {}
"""Every function by namespace ("" is the global one) and name."""


class FunctionNamespace:
    """The decorator that declares the functions of one namespace.

    :param counts_units: whether the functions count, cut or compare characters, which Java does in UTF-16
        units.
    """

    def __init__(self, name: str, *, counts_units: bool = False) -> None:
        self.name = name
        self._counts_units = counts_units

    def __call__(self, signature: str, *names: str) -> Callable[[_F], _F]:
        """Declare an overload of a function.

        :param names: the names of the function; default: the name of the Python function.
        """

        def declare(run: _F) -> _F:
            overload = _build_overload(signature, run, counts_units=self._counts_units)
            for name in names or (run.__name__.rstrip("_"),):
                key = (self.name, name)
                FUNCTIONS.setdefault(key, Function(self.name, name)).overloads.append(overload)
            return run

        return declare


def parse_signature(signature: str) -> tuple[list[str], str | None, str]:
    """Return the kinds of the arguments, the kind of further arguments (or None), and the kind of the
    result with its mark.
    """
    taken, _, returns = signature.partition("->")
    kinds = taken.split()
    rest = kinds.pop().removesuffix("*") if kinds and kinds[-1].endswith("*") else None
    return kinds, rest, returns.strip()


def _build_overload(signature: str, run: Callable[..., Any], *, counts_units: bool) -> Overload:
    kinds, rest, returns = parse_signature(signature)
    never_null = returns[-1] == "!" or (returns[0] in PRIMITIVE and returns[-1] != "?")
    called = in_units(run) if counts_units else run
    return Overload(tuple(kinds), rest, returns[0], never_null, called, counts_units)


def _call_one(function: Function, form: Overload, count: int) -> Callable[..., Any]:
    """Return a callable for the only overload; one or two texts, or values of any kind, are passed
    directly.
    """
    kinds = {form.kinds[at] if at < len(form.kinds) else form.rest for at in range(count)}
    run = form.run

    def call_unchecked(*arguments: Any) -> Any:
        try:
            return run(*arguments)
        except Exception as error:
            _translate_error(function, error)

    def call_text(text: Any) -> Any:
        if text is None or text.__class__ is str:
            return call_unchecked(text)
        return _fail_without_form(function, (text,))

    def call(*arguments: Any) -> Any:
        taken = form.accept(arguments)
        return _fail_without_form(function, arguments) if taken is None else call_unchecked(*taken)

    if kinds <= {"O", "J"}:
        return call_unchecked
    return call_text if kinds == {"S"} and count == 1 else call


def _call_fitting(function: Function, forms: list[Overload]) -> Callable[..., Any]:
    """Return a callable that uses the first overload that accepts the arguments."""

    def call(*arguments: Any) -> Any:
        for form in forms:
            taken = form.accept(arguments)
            if taken is not None:
                try:
                    return form.run(*taken)
                except Exception as error:
                    _translate_error(function, error)
        return _fail_without_form(function, arguments)

    return call


def _translate_error(function: Function, error: Exception) -> NoReturn:
    """Turn any error of a function into an error of its row, as the original does with Java exceptions."""
    if isinstance(error, EvaluationError):
        raise error
    if isinstance(error, TimeoutError):
        raise EvaluationError(f"{function.full_name} took too long") from None
    raise EvaluationError(f"{function.full_name}: {error or type(error).__name__}") from error


def _fail_without_form(function: Function, arguments: tuple[Any, ...]) -> Any:
    given = ", ".join(type_name(value) for value in arguments)
    raise EvaluationError(f"{function.full_name} cannot be used with ({given})")


# -- what each kind takes ---------------------------------------------------------------------------


def _accept_text(value: Any) -> Any:
    return value if value is None or value.__class__ is str else _REJECTED


def _accept_character(value: Any) -> Any:
    is_unit = value.__class__ is str and len(value) == 1 and value <= "\uffff"
    return value if is_unit else _REJECTED


def _accept_whole(low: int, high: int, *, null: bool) -> Callable[[Any], Any]:
    def accept(value: Any) -> Any:
        """Return the arguments converted for the function, or None if one does not fit."""
        if value.__class__ is int:
            return value if low <= value <= high else _REJECTED
        if isinstance(value, Decimal) and value.is_finite() and value == int(value):
            return int(value)
        return None if value is None and null else _REJECTED

    return accept


def _accept_double(value: Any) -> Any:
    if value.__class__ is float:
        return value
    if value.__class__ is int or isinstance(value, Decimal):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return _REJECTED


def _accept_number(value: Any) -> Any:
    fits = value is None or value.__class__ in (int, float, Decimal)
    return value if fits else _REJECTED


def _accept_decimal(value: Any) -> Any:
    return value if value is None or isinstance(value, Decimal) else _REJECTED


def _accept_instance(*types: type) -> Callable[[Any], Any]:
    return lambda value: value if value is None or isinstance(value, types) else _REJECTED


def _accept_datetime(kind: type, read: Callable[[str], Any]) -> Callable[[Any], Any]:
    def accept(value: Any) -> Any:
        """Return the arguments converted for the function, or None if one does not fit."""
        if value is None or value.__class__ is kind:
            return value
        return read(value) if value.__class__ is str else _REJECTED

    return accept


def _accept_timestamp(value: Any) -> Any:
    if value.__class__ is datetime.datetime and value.tzinfo is None:
        return value.replace(tzinfo=datetime.UTC)
    return _accept_instance(datetime.datetime)(value)


_ACCEPT: Final[Mapping[str, Callable[[Any], Any]]] = {
    "S": _accept_text,
    "O": lambda value: value,
    "J": lambda value: value,
    "I": _accept_whole(numbers.INT_MIN, numbers.INT_MAX, null=False),
    "L": _accept_whole(numbers.LONG_MIN, numbers.LONG_MAX, null=False),
    "i": _accept_whole(numbers.INT_MIN, numbers.INT_MAX, null=True),
    "l": _accept_whole(numbers.LONG_MIN, numbers.LONG_MAX, null=True),
    "D": _accept_double,
    "N": _accept_number,
    "B": lambda value: value if value is True or value is False else _REJECTED,
    "C": _accept_character,
    "M": _accept_decimal,
    "Y": _accept_instance(bytes),
    "A": _accept_instance(list, tuple, set, range),
    "d": _accept_datetime(datetime.date, read_date),
    "t": _accept_datetime(datetime.time, read_time),
    "T": _accept_datetime(datetime.datetime, read_datetime),
    "Z": _accept_timestamp,
}
