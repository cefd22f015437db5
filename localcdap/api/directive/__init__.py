"""Directives, the steps of Wrangler's recipes: everything that the author of a directive imports.

>>> @plugin(name="reverse", description="Reverses a text.")      # doctest: +SKIP
... class Reverse(Directive):
...     column: str = argument.column("The column whose text is reversed.")
...
...     def change(self, row: Row, context: RowContext) -> None:
...         value = row.value(self.column)
...         if isinstance(value, str):
...             row.put(self.column, value[::-1])

A user-defined directive is a plugin of type ``directive`` in an artifact like any other. A recipe loads it
with ``#pragma load-directives reverse;`` or the property ``udd``.
"""

from __future__ import annotations

from localcdap.api.directive import argument
from localcdap.api.directive.argument import Argument, ArgumentKind, NumberRange
from localcdap.api.directive.directive import (
    Directive,
    DirectiveError,
    ErrorRow,
    NoNativeFormError,
)
from localcdap.api.directive.rows import Columns, Expression, Frame, Native, Row, RowContext
from localcdap.api.plugin import plugin
from localcdap.moved import build_getattr

__all__ = [
    "Argument",
    "ArgumentKind",
    "Columns",
    "Directive",
    "DirectiveError",
    "ErrorRow",
    "Expression",
    "Frame",
    "Native",
    "NoNativeFormError",
    "NumberRange",
    "Row",
    "RowContext",
    "argument",
    "plugin",
]

__getattr__ = build_getattr(__name__)
