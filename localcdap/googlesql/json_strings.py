"""TO_JSON_STRING (``json_functions.md`` of google/zetasql, "JSON encodings")."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
from typing import Any, Final

from .value_texts import print_decimal, print_float, print_json, print_time

_MOST_EXACT: Final = 2**53
"""The largest whole number that JSON readers hold exactly; larger ones are texts."""


def to_json_string(type: str, value: Any) -> str:
    """Return a value as JSON.

    :param type: the name of its type in DuckDB.
    """
    return print_json(value) if type == "JSON" and value is not None else _encode(value)


def _encode(value: Any) -> str:
    match value:
        case None | bool():
            return json.dumps(value)
        case int() | float() | decimal.Decimal():
            return _encode_number(value)
        case bytes():
            return _quote(base64.b64encode(value).decode())
        case datetime.datetime() if value.tzinfo is not None:
            return _quote(print_time(value).removesuffix("+00").replace(" ", "T") + "Z")
        case datetime.date() | datetime.time():
            return _quote(print_time(value).replace(" ", "T"))
        case list():
            return f"[{','.join(map(_encode, value))}]"
        case dict() | tuple():
            return _encode_struct(value)
        case _:
            return _quote(str(value))


def _encode_struct(value: dict[str, Any] | tuple[Any, ...]) -> str:
    """Encode a STRUCT; fields without a name have an empty one, which is their number in DuckDB."""
    named = value if isinstance(value, dict) else {f"_{i}": each for i, each in enumerate(value)}
    members = (
        f"{_quote('' if name == f'_{number}' else name)}:{_encode(each)}"
        for number, (name, each) in enumerate(named.items())
    )
    return f"{{{','.join(members)}}}"


def _encode_number(value: float | decimal.Decimal) -> str:
    if isinstance(value, float):
        return _encode_float(value)
    text = print_decimal(value) if isinstance(value, decimal.Decimal) else str(value)
    is_exact = value == int(value) and abs(value) <= _MOST_EXACT
    return text if is_exact else _quote(text)


def _encode_float(value: float) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return print_float(value or 0.0).removesuffix(".0")


def _quote(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted.replace("\u2028", r"\u2028").replace("\u2029", r"\u2029")
