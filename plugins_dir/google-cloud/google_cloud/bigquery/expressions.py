"""Translation of BigQuery's types, operators and functions that DuckDB interprets differently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .argument_types import check_argument_types
from .arithmetic import ARITHMETIC
from .casts import CASTS, NUMERIC
from .formats import translate_format, translate_time_format
from .functions import FUNCTIONS
from .literals import type_literals
from .operands import name_operands
from .ranges import check_ranges
from .times import TIMES, translate_zones

_INTEGERS: Final = ("INT", "SMALLINT", "TINYINT", "MEDIUMINT")
"""Types of sqlglot for the other names of INT64."""


def translate_expressions(parsed: Any, text: str) -> None:
    """Translate the types, operators and functions of a statement to DuckDB's, in place.

    :param text: the text of the statement, for positions in errors.
    :raises SqlError: for an expression without an equivalent.
    """
    translate_zones(parsed, text)
    name_operands(parsed)
    check_argument_types(parsed, text)
    check_ranges(parsed, text)
    type_literals(parsed, text)
    # Inner nodes are translated before outer ones.
    for node in reversed(list(parsed.walk())):
        translate = _TRANSLATIONS.get(type(node).__name__)
        if translate is not None:
            translate(node, text)


def translate_type(kind: Any, _: str = "") -> None:
    """Add the precision and scale of BigQuery to a NUMERIC; INT, SMALLINT and their like are INT64."""
    from sqlglot import expressions as exp

    types = (exp.DataType.Type.DECIMAL, exp.DataType.Type.BIGDECIMAL)
    if kind.this in types and not kind.expressions:
        kind.replace(exp.DataType.build(NUMERIC))
    elif kind.this.name in _INTEGERS:
        kind.replace(exp.DataType.build("BIGINT"))


def _translate_safe(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    node.replace(exp.Anonymous(this="TRY", expressions=[node.this.copy()]))


_TRANSLATIONS: Final[dict[str, Callable[[Any, str], None]]] = {
    **ARITHMETIC,
    **CASTS,
    **FUNCTIONS,
    **TIMES,
    "DataType": translate_type,
    "Format": translate_format,
    "SafeFunc": _translate_safe,
    "TimeToStr": translate_time_format,
}
"""By class name of sqlglot's nodes, because not every version of sqlglot has all classes."""
