"""The schema of rows that say no types: those of CSV and JSON files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import LogicalType, Schema

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
    guess = _guess_texts if is_text else _guess_values
    return Schema.record(
        "recording", [(n, guess(found).as_nullable) for n, found in values.items()]
    )


def _guess_texts(texts: list[str]) -> Schema:
    given = [text for text in texts if text]
    for form, schema in _TEXT_FORMS:
        if given and all(map(form.fullmatch, given)):
            return schema
    return Schema.STRING


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
