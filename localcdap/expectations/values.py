"""The values in a rule as values of a column."""

from __future__ import annotations

import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.java.numbers import is_number

_TEXTS: Final = (Type.STRING, Type.ENUM)
_TIMES: Final = (LogicalType.TIMESTAMP_MILLIS, LogicalType.TIMESTAMP_MICROS)


def is_text(schema: Schema) -> bool:
    """Return whether the values of a column are texts."""
    inner = schema.non_nullable
    return inner.logical_type is None and inner.type in _TEXTS


def is_comparable(schema: Schema) -> bool:
    """Return whether a rule may compare the values of a column with values that it states."""
    inner = schema.non_nullable
    if inner.logical_type is not None:
        return inner.logical_type in (
            *_TIMES,
            LogicalType.DATE,
            LogicalType.DATETIME,
            LogicalType.DECIMAL,
        )
    return inner.type.is_numeric or inner.type in (*_TEXTS, Type.BOOLEAN)


def to_column_value(schema: Schema, value: Any) -> Any:
    """Return a value of a rule in the type of a column: a text of a date as a date, for instance.

    A time without a zone is in UTC.

    :raises ValueError: when it cannot be one; the message says what is expected.
    """
    inner = schema.non_nullable
    match inner.logical_type:
        case LogicalType.DATE:
            return _parse(datetime.date.fromisoformat, value, "a date such as 2026-11-30")
        case LogicalType.DATETIME:
            moment = _parse_moment(value)
            if moment.tzinfo is not None:
                raise ValueError("a date and time without a zone is expected")
            return moment
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            moment = _parse_moment(value)
            return moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
        case LogicalType.DECIMAL:
            return _to_decimal(value)
    if inner.type in _TEXTS:
        return _require(isinstance(value, str), value, "a text")
    if inner.type is Type.BOOLEAN:
        return _require(isinstance(value, bool), value, "true or false")
    return _require(is_number(value), value, "a number")


def _require(holds: bool, value: Any, expected: str) -> Any:
    if not holds:
        raise ValueError(f"{expected} is expected")
    return value


def _to_decimal(value: Any) -> Decimal:
    if isinstance(value, bool):
        raise ValueError("a number is expected")
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        raise ValueError("a number is expected") from None
    if not found.is_finite():
        raise ValueError("a number is expected")
    return found


def _parse_moment(value: Any) -> datetime.datetime:
    found: datetime.datetime = _parse(
        datetime.datetime.fromisoformat, value, "a date and time such as 2026-11-30T18:00:00"
    )
    return found


def _parse(parse: Any, value: Any, expected: str) -> Any:
    if isinstance(value, str):
        try:
            return parse(value)
        except ValueError:
            pass
    raise ValueError(f"{expected} is expected")
