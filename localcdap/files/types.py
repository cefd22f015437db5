"""Types that values propose which say none themselves: texts, and rows of CSV and JSON files.

CDAP and recordings read texts differently, so that there are two answers: :func:`detect_column_type` is that
of CDAP, and :func:`guess_column_type` that of recordings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import LogicalType, Schema, Type

YEAR: Final = re.compile(r"\s*(?:1[5-9]|20|21)\d\d\s*")
_VALUE: Final = re.compile(
    r"[+-]?[$€£¥]?\s?\(?[.,]?\d[\d.,:/ +TZeE%-]*\)?\s?[$€£¥]?"  # numbers, amounts, dates and times
    r"|true|false|null|n/?a|[^@\s]+@[^@\s]+\.[^@\s]+|https?://\S+",
    re.IGNORECASE,
)
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LONG: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_DOUBLE: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"
)
_TEXT_FORMS: Final = (
    (re.compile(r"true|false", re.IGNORECASE), Schema.BOOLEAN),
    (_LONG, Schema.LONG),
    (_DOUBLE, Schema.DOUBLE),
    (_DATE, Schema.of(LogicalType.DATE)),
    (_TIMESTAMP, Schema.of(LogicalType.TIMESTAMP_MICROS)),
)


def is_value(text: str) -> bool:
    """Return whether a text is certainly a value, and not the name of a column.

    Values are numbers, also with a currency or per cent, dates, times, ``true``, ``false``, ``null``,
    ``n/a``, and addresses of mail and web.

    >>> [is_value(text) for text in ("-1.5", "$ 2,000.00", "2026-01-31", "ada@example.org", "n/a")]
    [True, True, True, True, True]
    >>> [is_value(text) for text in ("2nd", "price", "")]
    [False, False, False]
    """
    return _VALUE.fullmatch(text.strip()) is not None


def detect_column_type(texts: Sequence[str]) -> Schema:
    """Return the narrowest type of all texts that CDAP detects; nullable if one of them is blank.

    Types are int, long, double, boolean and string (CDAP 6 ``DataTypeDetectorStatusKeeper``). Leading zeros
    and signs belong to numbers; dates are strings.
    """
    kinds = {_detect_type(text) for text in texts}
    nullable = None in kinds
    kinds.discard(None)
    order = (Type.INT, Type.LONG, Type.DOUBLE)
    if kinds and all(kind in order for kind in kinds):
        detected = max((kind for kind in kinds if kind is not None), key=order.index)
    else:
        detected = kinds.pop() or Type.STRING if len(kinds) == 1 else Type.STRING
    schema = Schema.of(detected)
    return schema.as_nullable if nullable else schema


def _detect_type(text: str) -> Type | None:
    text = text.strip()
    if not text:
        return None
    if text.lower() in ("true", "false"):
        return Type.BOOLEAN
    if _WHOLE.fullmatch(text):
        number = abs(int(text) + (int(text) < 0))
        return Type.INT if number < 2**31 else Type.LONG if number < 2**63 else Type.STRING
    return Type.DOUBLE if _NUMBER.fullmatch(text) else Type.STRING


def guess_column_type(texts: Sequence[str]) -> Schema:
    """Return the type of all texts that are not empty: boolean, long, double, date, timestamp or string.

    Numbers with leading zeros stay text, since most of them are codes.
    """
    filled = [text for text in texts if text]
    for form, schema in _TEXT_FORMS:
        if filled and all(map(form.fullmatch, filled)):
            return schema
    return Schema.STRING


def guess_schema_of_rows(rows: Iterable[Any], *, is_text: bool) -> Schema:
    """Return the record schema of rows, with every field nullable; without rows it has no fields.

    Numbers with leading zeros stay text, since most of them are codes.

    :param is_text: whether all values are texts.
    :raises BadRequestError: for a row that is not an object.
    """
    values: dict[str, list[Any]] = {}
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise BadRequestError(f"Record {number} of the recording is not an object.")
        for name, value in row.items():
            values.setdefault(name, []).append(value)
    guess = guess_column_type if is_text else _guess_values
    return Schema.record(
        "recording", [(n, guess(found).as_nullable) for n, found in values.items()]
    )


def _guess_values(values: list[Any]) -> Schema:
    given = [value for value in values if value is not None]
    kinds = {type(value) for value in given}
    if kinds == {bool}:
        return Schema.BOOLEAN
    if kinds == {int}:
        return Schema.LONG
    if kinds and kinds <= {int, float}:
        return Schema.DOUBLE
    if kinds == {list}:
        return Schema.array(_guess_values([each for value in given for each in value]).as_nullable)
    if kinds == {dict}:
        return guess_schema_of_rows(given, is_text=False).renamed("nested")
    if kinds == {str}:
        dated = [schema for form, schema in _TEXT_FORMS[3:] if all(map(form.fullmatch, given))]
        return dated[0] if dated else Schema.STRING
    return Schema.STRING
