"""CAST and SAFE_CAST of BigQuery, which read texts more strictly than DuckDB."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from .calls import call
from .sql import SqlError, describe_position

NUMERIC: Final = "DECIMAL(38, 9)"
"""BigQuery's NUMERIC: 38 digits, 9 of them after the point."""
ROUNDED: Final = "DECIMAL(38, 18)"
"""The type between a fraction and an INT64: decimals are rounded as in BigQuery, halves away from zero."""
_CASTS: Final = {
    "BIGINT": "int64",
    "INT": "int64",
    "BOOLEAN": "bool",
    "DOUBLE": "double",
    "TEXT": "string",
    "VARCHAR": "string",
    "BINARY": "bytes",
    "VARBINARY": "bytes",
    "BLOB": "bytes",
    "DATE": "date",
    "DATETIME": "datetime",
    "TIMESTAMP": "datetime",
    "TIMESTAMPTZ": "timestamp",
    "TIME": "time",
}
"""The names of the store's casts by sqlglot's types; the others are those of DuckDB."""
_DATE: Final = r"(?!0000)\d{4}-\d{1,2}-\d{1,2}"
_TIME: Final = r"([01]?\d|2[0-3]):\d{1,2}:\d{1,2}(\.\d{0,6})?"
LITERALS: Final = {
    "DATE": _DATE,
    "DATETIME": f"{_DATE}([ Tt]{_TIME})?",
    "TIMESTAMP": f"{_DATE}([ Tt]{_TIME})?",
    "TIMESTAMPTZ": rf"(?!0001|9999){_DATE}([ Tt]{_TIME})?"
    r"( ?([Zz]|[-+](0?\d|1[0-4])(:?\d{2})?)| [A-Za-z][\w/+-]*)?",
    "TIME": _TIME,
}
"""The texts of literals and casts that DuckDB reads as BigQuery does."""


def _translate_cast(cast: Any, text: str) -> None:
    from sqlglot import expressions as exp

    if cast.args.get("format") is not None:
        raise SqlError(
            f"CAST with FORMAT is not translated{describe_position(text, cast)}.",
            "Use FORMAT_DATE, PARSE_DATE and their like.",
        )
    kind, value = cast.to.this.name, cast.this
    name = _CASTS.get(kind)
    has_size = bool(cast.to.expressions) and name not in ("string", "bytes")
    if name is None or has_size or _is_plain(kind, value):
        return
    is_safe = isinstance(cast, exp.TryCast) and name != "bytes"
    cast.replace(call(f"safe_{name}" if is_safe else name, _type_fraction(value)))


def _is_plain(kind: str, value: Any) -> bool:
    """Return whether DuckDB casts a literal as BigQuery does."""
    from sqlglot import expressions as exp

    literal = value.this if isinstance(value, exp.Neg) else value
    if not isinstance(literal, exp.Literal):
        return False
    if not literal.is_string:
        return literal.name.isdecimal() or kind in ("DOUBLE", "BIGINT")
    pattern = LITERALS.get(kind)
    is_right = pattern is not None and re.fullmatch(pattern, literal.name) is not None
    return is_right or kind in ("TEXT", "VARCHAR")


def _type_fraction(value: Any) -> Any:
    """Return a fraction as FLOAT64, which DuckDB takes for a decimal."""
    from sqlglot import expressions as exp

    is_number = isinstance(value, exp.Literal) and not value.is_string
    return exp.cast(value.copy(), "DOUBLE") if is_number else value


CASTS: Final[dict[str, Callable[[Any, str], None]]] = {
    "Cast": _translate_cast,
    "TryCast": _translate_cast,
}
