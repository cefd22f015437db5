"""The arguments of a directive, declared as class attributes and read as typed values.

>>> from localcdap.api.directive import Directive, argument
>>> class Cut(Directive):
...     source: str = argument.column("The column to cut.")
...     width: int = argument.number("How many characters are kept.", default=10)
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from localcdap.moved import build_getattr

REQUIRED: Final = object()


class ArgumentKind(enum.Enum):
    """The kinds of values in recipes (wrangler ``TokenType``)."""

    COLUMN = "column"
    """``:name``; read as ``str``."""
    COLUMNS = "columns"
    """``:name,:other``; read as ``list[str]``."""
    TEXT = "text"
    """``'text'``; read as ``str``, without its quotes and with its backslashes as they stand."""
    TEXTS = "texts"
    """``'one','other'``; read as ``list[str]``."""
    NUMBER = "number"
    """``12``, ``-1.5``; read as ``int``, or ``Decimal`` where it has a point."""
    NUMBERS = "numbers"
    """``1,2,3``; read as ``list[int | Decimal]``."""
    BOOL = "bool"
    """``true`` or ``false``; read as ``bool``."""
    BOOLS = "bools"
    """``true,false``; read as ``list[bool]``."""
    IDENTIFIER = "identifier"
    """A bare word; read as ``str``."""
    EXPRESSION = "expression"
    """``exp:{…}``; read as :class:`localcdap.api.directive.Expression`."""
    RANGES = "ranges"
    """``0:10='low',10:20='high'``; read as ``list[NumberRange]``."""
    PROPERTIES = "properties"
    """``prop:{key='value', other=1}``; read as ``dict[str, str | int | Decimal | bool]``."""


class NumberRange(msgspec.Struct, frozen=True):
    """A range of numbers, including both ends, and the value that replaces a number in it."""

    start: Any
    """int or Decimal."""
    end: Any
    value: str


class Argument:
    """A declared argument, created by a function of this module."""

    def __init__(
        self,
        kind: ArgumentKind,
        description: str,
        default: Any = REQUIRED,
        *,
        name: str | None = None,
        label: str | None = None,
        choices: Sequence[str] = (),
    ) -> None:
        self.kind: Final = kind
        self.description: Final = description
        self.default: Final = default
        self.label: Final = label
        self.choices: Final = tuple(choices)
        self.name: str = name or ""
        self.attribute: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name
        self.name = self.name or name.replace("_", "-")

    @property
    def is_optional(self) -> bool:
        """Whether a recipe may leave out the argument."""
        return self.default is not REQUIRED

    @property
    def usage(self) -> str:
        """The argument in the usage of its directive (wrangler ``UsageDefinition``)."""
        text = self.label or _USAGES[self.kind].format(self.name)
        return f"[{text}]" if self.is_optional else text


_USAGES: Final = {
    ArgumentKind.COLUMN: ":{0}",
    ArgumentKind.COLUMNS: ":{0} [,:{0} ]*",
    ArgumentKind.TEXT: "'{0}'",
    ArgumentKind.TEXTS: "'{0}'[,'{0}' ...]*",
    ArgumentKind.NUMBER: "{0}",
    ArgumentKind.NUMBERS: "{0}[,{0} ...]*",
    ArgumentKind.BOOL: "{0} (true/false)",
    ArgumentKind.BOOLS: "{0}[,{0} ...]*",
    ArgumentKind.IDENTIFIER: "{0}",
    ArgumentKind.EXPRESSION: "exp:{{<{0}>}}",
    ArgumentKind.RANGES: "start:end=[bool|text|numeric][,start:end=[bool|text|numeric]*",
    ArgumentKind.PROPERTIES: "prop:{{key=value[, key=value]*}}",
}


def column(description: str, *, default: Any = REQUIRED, name: str | None = None) -> Any:
    """Declare an argument that names a column.

    All functions of this module have these parameters.

    :param description: one sentence for the person who writes the recipe.
    :param default: the value when the recipe leaves out the argument; without a default the argument is
        required. Optional arguments follow required ones.
    :param name: the name in usages and messages; by default the attribute's, with ``-`` for ``_``.
    """
    return Argument(ArgumentKind.COLUMN, description, default, name=name)


def columns(description: str, *, default: Any = REQUIRED, name: str | None = None) -> Any:
    """Declare an argument that names one or more columns."""
    return Argument(ArgumentKind.COLUMNS, description, default, name=name)


def text(
    description: str,
    *,
    default: Any = REQUIRED,
    name: str | None = None,
    choices: Sequence[str] = (),
) -> Any:
    """Declare a text argument.

    :param choices: the allowed texts, compared without regard to case; the value read has the declared
        spelling.
    """
    return Argument(ArgumentKind.TEXT, description, default, name=name, choices=choices)


def texts(description: str, *, default: Any = REQUIRED, name: str | None = None) -> Any:
    """Declare a list of texts."""
    return Argument(ArgumentKind.TEXTS, description, default, name=name)


def number(description: str, *, default: Any = REQUIRED, name: str | None = None) -> Any:
    """Declare a number."""
    return Argument(ArgumentKind.NUMBER, description, default, name=name)


def numbers(description: str, *, default: Any = REQUIRED, name: str | None = None) -> Any:
    """Declare a list of numbers."""
    return Argument(ArgumentKind.NUMBERS, description, default, name=name)


def boolean(description: str, *, default: Any = REQUIRED, name: str | None = None) -> Any:
    """Declare a truth value."""
    return Argument(ArgumentKind.BOOL, description, default, name=name)


def identifier(
    description: str,
    *,
    default: Any = REQUIRED,
    name: str | None = None,
    choices: Sequence[str] = (),
) -> Any:
    """Declare a bare word; see :func:`text` for ``choices``."""
    return Argument(ArgumentKind.IDENTIFIER, description, default, name=name, choices=choices)


def expression(description: str, *, default: Any = REQUIRED, name: str | None = None) -> Any:
    """Declare a JEXL expression."""
    return Argument(ArgumentKind.EXPRESSION, description, default, name=name)


def ranges(description: str, *, default: Any = REQUIRED, name: str | None = None) -> Any:
    """Declare ranges of numbers with the value that replaces each."""
    return Argument(ArgumentKind.RANGES, description, default, name=name)


def properties(
    description: str,
    *,
    default: Any = REQUIRED,
    name: str | None = None,
    label: str | None = None,
) -> Any:
    """Declare properties.

    :param label: the argument in usages, for instance ``prop:{precision=<precision>}``.
    """
    return Argument(ArgumentKind.PROPERTIES, description, default, name=name, label=label)


__getattr__ = build_getattr(__name__)
