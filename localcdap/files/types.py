"""Types that values propose which say none themselves: texts, and rows of CSV and JSON files.

CDAP and recordings read texts differently, so that there are two answers: :func:`detect_column_type` is that
of CDAP, and :func:`guess_column_type` that of recordings. Values of JSON have one, :func:`infer_value_type`.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.java.numbers import INT_MAX, INT_MIN, NumberFormatError, parse_long
from localcdap.java.strings import TRIM_CHARACTERS, format_double

YEAR: Final = re.compile(r"\s*(?:1[5-9]|20|21)\d\d\s*")
_VALUE: Final = re.compile(
    r"[+-]?[$€£¥]?\s?\(?[.,]?\d[\d.,:/ +TZeE%-]*\)?\s?[$€£¥]?"  # numbers, amounts, dates and times
    r"|true|false|null|n/?a|[^@\s]+@[^@\s]+\.[^@\s]+|https?://\S+",
    re.IGNORECASE,
)
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_ALL_DIGITS: Final = decimal.Context(
    prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[]
)
_ORDER: Final = (Type.INT, Type.LONG, Type.DOUBLE, Type.BOOLEAN, Type.STRING)
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
    """Return the type that CDAP detects for texts; nullable if one of them is blank.

    It is the last one of int, long, double, boolean and string that any of them has (hydrator-plugins
    ``DataTypeDetectorStatusKeeper``). Leading zeros and signs belong to numbers; dates are strings.
    """
    kinds = {_detect_type(text) for text in texts}
    detected = max(
        (kind for kind in kinds if kind is not None), key=_ORDER.index, default=Type.STRING
    )
    schema = Schema.of(detected)
    return schema.as_nullable if None in kinds else schema


def _detect_type(text: str) -> Type | None:
    """Return the type of one text; None for a blank one (hydrator-plugins ``TypeInference``).

    A number with a fraction is a double only if Java writes it so, but for zeros at its end: ``1.0`` and
    ``1e3`` are strings.
    """
    if not text.strip(TRIM_CHARACTERS):
        return None
    if text.lower() in ("true", "false"):
        return Type.BOOLEAN
    if _WHOLE.fullmatch(text):
        return _detect_whole(text)
    if _WHOLE.fullmatch(text[:-1]) and text[-1] == "L":
        return Type.LONG if _detect_whole(text[:-1]) is not Type.STRING else Type.STRING
    if not _NUMBER.fullmatch(text) or math.isinf(float(text)):
        return Type.STRING
    shortest = _ALL_DIGITS.create_decimal(text).normalize(_ALL_DIGITS)
    return Type.DOUBLE if format_double(float(text)) == str(shortest) else Type.STRING


def _detect_whole(text: str) -> Type:
    try:
        number = parse_long(text)
    except NumberFormatError:
        return Type.STRING
    return Type.INT if INT_MIN <= number <= INT_MAX else Type.LONG


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

    Texts that are all dates or timestamps have these types.

    :param is_text: whether all values are texts, which stand for values of any type.
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
        "recording", [(name, guess(column).as_nullable) for name, column in values.items()]
    )


def _guess_values(values: Sequence[Any]) -> Schema:
    types = (infer_value_type(value, "nested", infer_text=_guess_date) for value in values)
    return replace_unknown(functools.reduce(merge_types, types, Schema.NULL), all_nullable=True)


def _guess_date(text: str) -> Schema:
    return next((schema for form, schema in _TEXT_FORMS[3:] if form.fullmatch(text)), Schema.STRING)


# -- values with types ----------------------------------------------------------------------

_SIMPLE: Final[dict[type, Schema]] = {
    type(None): Schema.NULL,
    bool: Schema.BOOLEAN,
    int: Schema.LONG,  # of what JSON holds, however small the samples are
    float: Schema.DOUBLE,
    bytes: Schema.BYTES,
}
"""The types of values whose class determines them."""
_MAX_DIGITS: Final = 38
EXACT_IN_DOUBLE: Final = 2**53
"""Doubles hold every whole number up to this one."""
_WIDE_LONG: Final = Schema.decimal(19, 0)
"""Stands for a long that a double cannot hold, until :func:`replace_unknown` makes it a long."""


def _infer_whole_type(number: int) -> Schema:
    """Return the type of a whole number: a decimal beyond 64 bits, and a text beyond 38 digits."""
    if -(2**63) <= number < 2**63:
        return Schema.LONG if int(float(number)) == number else _WIDE_LONG
    return Schema.decimal(_MAX_DIGITS, 0) if abs(number) < 10**_MAX_DIGITS else Schema.STRING


def infer_value_type(
    value: Any,
    name: str = "record",
    *,
    by_path: bool = False,
    infer_text: Callable[[str], Schema] = lambda _: Schema.STRING,
) -> Schema:
    """Return the type of one value, such as one of JSON; that of null is the null type.

    The type of an object without members is a map of texts.

    Merge types, and replace what is not known of them, before anything else is done with them: a long that no
    double holds is marked, so that a column of it and of doubles has texts.

    :param name: of a record and the records in it.
    :param by_path: whether the records in it are called ``<name>_<field>``, as Avro wants different names.
    :param infer_text: returns the type of a text.
    """
    simple = next((schema for cls, schema in _SIMPLE.items() if isinstance(value, cls)), None)
    if simple is Schema.LONG:
        return _infer_whole_type(value)
    if simple is not None:
        return simple
    infer = functools.partial(infer_value_type, by_path=by_path, infer_text=infer_text)
    match value:
        case str():
            return infer_text(value)
        case decimal.Decimal():
            exponent = value.as_tuple().exponent
            scale = max(0, -exponent) if isinstance(exponent, int) else 0
            return Schema.decimal(_MAX_DIGITS, scale)
        case list() | tuple():
            types = (infer(item, name) for item in value)
            return Schema.array(functools.reduce(merge_types, types, next(types, Schema.NULL)))
        case dict():
            fields = [
                (str(k), infer(v, f"{name}_{k}" if by_path else name)) for k, v in value.items()
            ]
            nothing = Schema.map(Schema.STRING, Schema.STRING.as_nullable)
            return Schema.record(name, fields) if fields else nothing
        case datetime.datetime():
            return Schema.DATETIME if value.tzinfo is None else Schema.TIMESTAMP
        case datetime.date():
            return Schema.DATE
    return Schema.TIME if isinstance(value, datetime.time) else Schema.STRING


def merge_types(one: Schema, other: Schema) -> Schema:
    """Return a type for the values of both types; a string if no other type holds both.

    It is nullable where one of them is, or is the null type; a field that one record lacks is nullable.
    """
    if one == other:
        return one
    if Type.NULL in (one.type, other.type):
        return (other if one.type is Type.NULL else one).as_nullable
    left, right = one.non_nullable, other.non_nullable
    inner = Schema.STRING
    wholes = (Schema.LONG, _WIDE_LONG)
    if left == right:
        inner = left
    elif left in wholes and right in wholes:
        inner = _WIDE_LONG
    elif all(each.type.is_numeric and each.logical_type is None for each in (left, right)):
        inner = Schema.DOUBLE
    elif (wider := _merge_decimals(left, right)) is not None:
        inner = wider
    elif left.items is not None and right.items is not None:
        inner = Schema.array(merge_types(left.items, right.items))
    elif left.fields is not None and right.fields is not None:
        inner = _merge_records(left, right)
    elif {left.type, right.type} == {Type.MAP, Type.RECORD}:
        inner = left if left.type is Type.RECORD else right  # the map is an object without members
    return inner.as_nullable if one.is_nullable or other.is_nullable else inner


def _merge_decimals(left: Schema, right: Schema) -> Schema | None:
    """Return the decimal for two decimals, or a decimal and a long; None where there is none."""
    wholes, scales = (Schema.LONG, _WIDE_LONG), (left.scale, right.scale)
    if any(each not in wholes and each.scale is None for each in (left, right)):
        return None
    scale = max(each for each in scales if each is not None)
    has_long = left in wholes or right in wholes
    # A long has up to 19 digits before the point.
    return None if has_long and scale > _MAX_DIGITS - 19 else Schema.decimal(_MAX_DIGITS, scale)


def _merge_records(left: Schema, right: Schema) -> Schema:
    fields = []
    for name in dict.fromkeys([*left.field_names, *right.field_names]):
        a, b = left.field(name), right.field(name)
        both = merge_types(a.schema if a else Schema.NULL, b.schema if b else Schema.NULL)
        fields.append((name, both))
    return Schema.record(left.name or "record", fields)


def replace_unknown(schema: Schema, *, all_nullable: bool = False) -> Schema:
    """Return a schema with nullable strings in place of the null type, that of values which are all null.

    Longs that were marked, since doubles cannot hold them, become longs.

    :param all_nullable: whether every field and item becomes nullable.
    """
    inner = schema.non_nullable
    if inner.type is Type.NULL:
        return Schema.STRING.as_nullable
    if inner == _WIDE_LONG:
        inner = Schema.LONG
    if inner.items is not None:
        inner = Schema.array(replace_unknown(inner.items, all_nullable=all_nullable))
    elif inner.fields is not None:
        fields = [
            (field.name, replace_unknown(field.schema, all_nullable=all_nullable))
            for field in inner
        ]
        inner = Schema.record(inner.name or "record", fields)
    return inner.as_nullable if all_nullable or schema.is_nullable else inner
