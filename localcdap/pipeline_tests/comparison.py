"""Comparison of expected with actual records: which are missing, unexpected or changed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from difflib import SequenceMatcher
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records, encode_json_record, format_json_value
from localcdap.api.schema import LogicalType, Schema
from localcdap.java.numbers import is_number
from localcdap.pipeline_tests.model import RELATIVE_TOLERANCE, Expectation

MOST_LETTERS: Final = 80
"""The length of a value in a message."""
_MOST_PAIRS: Final = 100_000
"""The most pairs among which the most similar records are searched; with more, records are paired in
order.
"""
_ABSENT: Final = None


class FieldDifference(msgspec.Struct):
    """A value that differs."""

    field: str
    """A path such as ``address.city``."""
    expected: Any
    actual: Any


class RecordDifference(msgspec.Struct):
    """A record that differs."""

    kind: str
    """``missing``, ``unexpected`` or ``changed``"""
    label: str
    """Some values of the record, for a person to identify it."""
    fields: list[FieldDifference] = []
    """The fields of a changed record that differ."""


def list_differences(
    expected: Sequence[Any],
    actual: Sequence[Any],
    how: Expectation,
    schema: Schema | None = None,
) -> list[RecordDifference]:
    """Return the differences between expected and actual records.

    :param schema: the schema of the actual records, if it is known: expected values are converted to it, so
        that ``12.5`` equals the decimal ``"12.50"``.
    """
    compared = _Comparison(how, schema)
    wanted = [compared.normalize(each) for each in expected]
    found = [_normalize_decimals(each, schema) for each in actual]
    pairs = list(
        compared.pair_in_order(wanted, found)
        if how.ordered
        else compared.pair_in_any_order(wanted, found)
    )
    return [each for one, other in pairs for each in compared.compare_pair(one, other)]


_Pair = tuple[Any, Any]
"""An expected and an actual record; ``_NONE`` in place of a record that is missing."""
_NONE: Final = object()


class _Comparison:
    def __init__(self, how: Expectation, schema: Schema | None) -> None:
        self._how: Final = how
        self._schema: Final = schema

    def normalize(self, record: Any) -> Any:
        """Return an expected record in the form of actual records, as far as it matches the schema."""
        schema = self._schema
        if schema is None or not isinstance(record, dict):
            return record
        fitting = {}
        for name, value in record.items():
            field = schema.field(name)
            fitting[name] = value
            if field is not None and value is not None:
                alone = Schema.record("record", [field])
                try:
                    fitting[name] = encode_json_record(
                        decode_json_records(alone, [{name: value}])[0]
                    )[name]
                except BadRequestError:
                    continue
        return _normalize_decimals(fitting, schema)

    # -- pairing of records ----------------------------------------------------------

    def pair_in_order(self, expected: list[Any], actual: list[Any]) -> list[_Pair]:
        """Return the pairs of differing records by position, allowing for inserted and missing records."""
        aligned = list(self._align(expected, actual))
        if len(expected) != len(actual):
            return aligned
        pairs = zip(expected, actual, strict=True)
        by_place = [(one, other) for one, other in pairs if not self._are_equal_records(one, other)]
        return by_place if len(by_place) <= len(aligned) else aligned

    def _align(self, expected: list[Any], actual: list[Any]) -> Iterator[_Pair]:
        kinds: list[Any] = []
        here_kinds = [self._find_kind(each, kinds) for each in expected]
        there_kinds = [self._find_kind(each, kinds) for each in actual]
        matcher = SequenceMatcher(None, here_kinds, there_kinds, autojunk=False)
        for what, start, end, other, other_end in matcher.get_opcodes():
            if what == "equal":
                continue
            here, there = expected[start:end], actual[other:other_end]
            both = min(len(here), len(there))
            yield from zip(here[:both], there[:both], strict=True)
            yield from ((each, _NONE) for each in here[both:])
            yield from ((_NONE, each) for each in there[both:])

    def pair_in_any_order(self, expected: list[Any], actual: list[Any]) -> Iterator[_Pair]:
        """Return the pairs of differing records: those with equal keys, or the most similar ones."""
        here, there = self._remove_equal(expected, actual)
        for one in list(here):
            other = next((each for each in there if self._have_same_key(one, each)), _NONE)
            if other is not _NONE:
                here.remove(one)
                there.remove(other)
                yield one, other
        if not self._how.key:
            for one, other in self._pair_similar(here, there):
                yield one, other
        yield from ((each, _NONE) for each in here)
        yield from ((_NONE, each) for each in there)

    def _find_kind(self, record: Any, kinds: list[Any]) -> int:
        for number, kind in enumerate(kinds):
            if self._are_equal_records(kind, record):
                return number
        kinds.append(record)
        return len(kinds) - 1

    def _remove_equal(self, expected: list[Any], actual: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return the records without the pairs of equal ones. Records with equal text are found first."""
        texts = Counter(_to_text(each) for each in actual)
        rest = []
        for each in expected:
            text = _to_text(each)
            if self._how.fields is None and not self._how.named_only and texts[text]:
                texts[text] -= 1
            else:
                rest.append(each)
        left: list[Any] = []
        for each in actual:
            text = _to_text(each)
            if texts[text]:
                texts[text] -= 1
                left.append(each)
        here = []
        for one in rest:
            place = next(
                (n for n, each in enumerate(left) if self._are_equal_records(one, each)), None
            )
            if place is None:
                here.append(one)
            else:
                del left[place]
        return here, left

    def _have_same_key(self, one: Any, other: Any) -> bool:
        key = self._how.key
        if not key or not (isinstance(one, dict) and isinstance(other, dict)):
            return False
        return all(self._are_equal(one.get(name), other.get(name)) for name in key)

    def _pair_similar(self, here: list[Any], there: list[Any]) -> Iterator[_Pair]:
        """Return pairs that have a value in common, the most similar first, and remove them from both
        lists.
        """
        if len(here) * len(there) > _MOST_PAIRS:
            both = min(len(here), len(there))
            yield from list(zip(here[:both], there[:both], strict=True))
            del here[:both], there[:both]
            return
        ranked = sorted(
            (
                (-self._count_equal_fields(one, other), n, m)
                for n, one in enumerate(here)
                for m, other in enumerate(there)
            ),
        )
        ours: set[int] = set()
        theirs: set[int] = set()
        for likeness, n, m in ranked:
            if likeness < 0 and n not in ours and m not in theirs:
                ours.add(n)
                theirs.add(m)
                yield here[n], there[m]
        here[:] = [each for n, each in enumerate(here) if n not in ours]
        there[:] = [each for m, each in enumerate(there) if m not in theirs]

    def _count_equal_fields(self, one: Any, other: Any) -> int:
        names = self._list_compared_names(one, other)
        return sum(
            1
            for name in names
            if one.get(name) is not None and self._are_equal(one.get(name), other.get(name))
        )

    # -- comparison of two records -----------------------------------------------------------------

    def compare_pair(self, one: Any, other: Any) -> Iterator[RecordDifference]:
        if other is _NONE:
            yield RecordDifference("missing", _format_label(one))
        elif one is _NONE:
            yield RecordDifference("unexpected", _format_label(other))
        else:
            fields = list(self._compare_fields(one, other, ""))
            if fields:
                label = self._describe_identity(one, other)
                yield RecordDifference("changed", label, fields)

    def _compare_fields(self, one: Any, other: Any, path: str) -> Iterator[FieldDifference]:
        if not (isinstance(one, dict) and isinstance(other, dict)):
            if not self._are_equal(one, other):
                yield FieldDifference(path, one, other)
            return
        names = (
            self._list_compared_names(one, other)
            if not path
            else list(dict.fromkeys([*one, *other]))
        )
        for name in names:
            if path and self._how.named_only and name not in one:
                continue
            inner = f"{path}.{name}" if path else name
            yield from self._compare_fields(one.get(name, _ABSENT), other.get(name, _ABSENT), inner)

    def _list_compared_names(self, one: Any, other: Any) -> list[str]:
        """Return the names of the fields that are compared."""
        if not (isinstance(one, dict) and isinstance(other, dict)):
            return []
        if self._how.fields is not None:
            return self._how.fields
        return list(one) if self._how.named_only else list(dict.fromkeys([*other, *one]))

    def _are_equal_records(self, one: Any, other: Any) -> bool:
        return next(self._compare_fields(one, other, ""), None) is None

    def _are_equal(self, one: Any, other: Any) -> bool:
        if isinstance(one, dict) and isinstance(other, dict):
            return all(self._are_equal(one.get(k), other.get(k)) for k in one.keys() | other.keys())
        if isinstance(one, list) and isinstance(other, list):
            return len(one) == len(other) and all(map(self._are_equal, one, other))
        if is_number(one) and is_number(other):
            return one == other or self._are_near(one, other)
        tolerance = self._how.tolerance
        if tolerance is not None and isinstance(one, str) and isinstance(other, str):
            return one == other or _are_near_decimals(one, other, tolerance)
        return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)

    def _are_near(self, one: float, other: float) -> bool:
        if self._how.tolerance is not None:
            return abs(one - other) <= self._how.tolerance
        is_floating = isinstance(one, float) or isinstance(other, float)
        return is_floating and abs(one - other) <= RELATIVE_TOLERANCE * max(abs(one), abs(other))

    def _describe_identity(self, one: dict[str, Any], other: dict[str, Any]) -> str:
        """Return the key of a record, or else its first unchanged values."""
        names = self._how.key or [
            name for name in one if name in other and self._are_equal(one[name], other[name])
        ]
        return _format_label({name: one.get(name) for name in names[: len(self._how.key) or 2]})


def _are_near_decimals(one: str, other: str, tolerance: float) -> bool:
    try:
        return abs(Decimal(one) - Decimal(other)) <= Decimal(str(tolerance))
    except InvalidOperation:
        return False


def _normalize_decimals(record: Any, schema: Schema | None) -> Any:
    """Return the record with decimals without trailing zeros."""
    if schema is None or not isinstance(record, dict):
        return record
    return {name: _normalize_decimal(schema, name, value) for name, value in record.items()}


def _normalize_decimal(schema: Schema, name: str, value: Any) -> Any:
    field = schema.field(name)
    if field is None or not isinstance(value, str):
        return value
    if field.schema.non_nullable.logical_type is not LogicalType.DECIMAL:
        return value
    try:
        return format(Decimal(value).normalize() + 0, "f")
    except InvalidOperation:
        return value


def _to_text(record: Any) -> str:
    return json.dumps(record, sort_keys=True, ensure_ascii=False)


def _format_label(record: Any) -> str:
    if not isinstance(record, dict):
        return _to_text(record)
    return " ".join(
        f"{name}={format_json_value(value, MOST_LETTERS)}" for name, value in record.items()
    )
