"""Checks of fields, values, keys and ranges against a table's specification (CDAP ``FieldValidator``).

Missing fields and wrong types are reported before fields at the wrong position of a key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from localcdap.api.app.specification import FieldType, StructuredTableSpecification
from localcdap.api.app.table import Key, Range
from localcdap.api.errors import InvalidTableFieldError, TableUsageError

Point = tuple[tuple[str, ...], tuple[Any, ...]]
"""Fields and their values, in the order of comparison."""
_EXACT: Final = {
    FieldType.BOOLEAN: bool,
    FieldType.DOUBLE: float,
    FieldType.BYTES: bytes,
    FieldType.INTEGER: int,
    FieldType.LONG: int,
    FieldType.STRING: str,
}
_BITS: Final = {FieldType.INTEGER: 31, FieldType.LONG: 63}


def check_column(spec: StructuredTableSpecification, field: str) -> FieldType:
    """Return the type of a field."""
    try:
        return spec.fields[field]
    except (KeyError, TypeError):
        raise InvalidTableFieldError(
            f"Field {field} is not part of the schema of table {spec.table}",
            f"Use one of: {', '.join(spec.fields)}.",
            table=spec.table,
            fields=[str(field)],
        ) from None


def check_value(spec: StructuredTableSpecification, field: str, value: Any) -> None:
    """Reject a value that the field cannot hold."""
    expected = check_column(spec, field)
    if value is None:
        if field in spec.primary_key:
            raise _make_field_error(spec, field, "is a primary key but the value is null")
        return
    actual = FieldType.of(value)
    if not expected.accepts(actual):
        raise InvalidTableFieldError(
            f"Wrong type for field {field} in table {spec.table}. "
            f"Expected {expected}, actual {actual or type(value).__name__}",
            table=spec.table,
            fields=[field],
        )


def check_values(spec: StructuredTableSpecification, field: str, values: Collection[Any]) -> None:
    """Check many values of one field in a few passes of built-in functions; see :func:`check_value`."""
    kinds = set(map(type, values))
    if type(None) in kinds and field not in spec.primary_key:
        kinds.discard(type(None))
        values = [value for value in values if value is not None]
    expected = check_column(spec, field)
    if kinds == {_EXACT.get(expected)}:
        if (bits := _BITS.get(expected)) is not None:
            if -(2**bits) <= min(values) and max(values) < 2**bits:
                return
        elif expected is not FieldType.STRING or all(map(str.isascii, values)):
            return
    for value in values:
        check_value(spec, field, value)


def check_record(spec: StructuredTableSpecification, record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Reject a record without the whole primary key, or with fields that the table does not have.

    :returns: the values of the primary key.
    """
    for field, value in record.items():
        check_value(spec, field, value)
    missing = [name for name in spec.primary_key if name not in record]
    if missing:
        raise InvalidTableFieldError(
            f"Fields {', '.join(missing)} of the primary key of table {spec.table} are missing",
            table=spec.table,
            fields=missing,
        )
    return tuple(record[name] for name in spec.primary_key)


def check_full_key(spec: StructuredTableSpecification, key: Key) -> tuple[Any, ...]:
    """Return the values of a whole primary key."""
    return to_key_prefix(spec, key, whole=True)[1]


def to_key_prefix(spec: StructuredTableSpecification, key: Key, *, whole: bool = False) -> Point:
    """Return a prefix of the primary key with its values.

    :param whole: require the whole primary key.
    """
    fields, values = to_point(spec, key)
    if fields != tuple(spec.primary_key[: len(fields)]) or (
        whole and len(fields) < len(spec.primary_key)
    ):
        wanted = ", ".join(spec.primary_key)
        part = "all of" if whole else "the first of"
        raise InvalidTableFieldError(
            f"Fields {', '.join(fields) or 'none'} are not {part} the primary key of table {spec.table}",
            f"Give {part} these, in this order: {wanted}.",
            table=spec.table,
            fields=fields,
        )
    return fields, values


def to_point(spec: StructuredTableSpecification, key: Key) -> Point:
    """Return fields and checked values; a sequence holds values of the first fields of the key."""
    if isinstance(key, Mapping):
        fields, values = tuple(key), tuple(key.values())
    elif isinstance(key, Sequence) and not isinstance(key, str | bytes):
        values = tuple(key)
        fields = tuple(spec.primary_key[: len(values)])
        if len(values) > len(fields):
            raise InvalidTableFieldError(
                f"{len(values)} values are more than the primary key of table {spec.table} has fields",
                f"Give at most: {', '.join(spec.primary_key)}.",
                table=spec.table,
                fields=fields,
            )
    else:
        raise TableUsageError(
            f"A key of table {spec.table} cannot be a {type(key).__name__}",
            f"Give a tuple or a dict of: {', '.join(spec.primary_key)}.",
        )
    for field, value in zip(fields, values, strict=True):
        check_value(spec, field, value)
    return fields, values


def to_points(spec: StructuredTableSpecification, range: Range) -> tuple[Point, Point]:
    """Return begin and end of a range of any fields."""
    return to_point(spec, range.begin), to_point(spec, range.end)


def check_scan_range(spec: StructuredTableSpecification, range: Range) -> tuple[Point, Point]:
    """Return begin and end of a range to scan; both must start with the first field of the primary key."""
    both = to_points(spec, range)
    for fields, _ in both:
        if fields and fields[0] != spec.primary_key[0]:
            raise InvalidTableFieldError(
                f"Given Range fields {', '.join(fields)} do not start with the first primary key of table "
                f"{spec.table}, {spec.primary_key[0]}",
                table=spec.table,
                fields=fields,
            )
    return both


def check_prefix_range(spec: StructuredTableSpecification, range: Range) -> tuple[Point, Point]:
    """Return begin and end of a range to change; both must be prefixes of the primary key."""
    to_points(spec, range)
    return to_key_prefix(spec, range.begin), to_key_prefix(spec, range.end)


def check_not_key(spec: StructuredTableSpecification, fields: Iterable[str]) -> None:
    """Reject fields of the primary key, whose values never change."""
    for field in fields:
        check_column(spec, field)
        if field in spec.primary_key:
            raise _make_field_error(spec, field, "is a primary key, which cannot be changed")


def check_index(spec: StructuredTableSpecification, field: str) -> None:
    """Reject a field that is not an index."""
    check_column(spec, field)
    if field not in spec.indexes:
        raise InvalidTableFieldError(
            f"Field {field} of table {spec.table} is not an indexed column",
            f"Use one of: {', '.join(spec.indexes) or 'none'}.",
            table=spec.table,
            fields=[field],
        )


def check_limit(limit: int | None) -> int | None:
    """Return the limit of a scan, reduced to the largest number that the database can hold."""
    if limit is None:
        return None
    if not isinstance(limit, int) or limit < 0:
        raise TableUsageError(f"The limit of a scan must be 0 or more, not {limit}")
    return min(limit, 2**63 - 1)


def _make_field_error(
    spec: StructuredTableSpecification, field: str, reason: str
) -> InvalidTableFieldError:
    return InvalidTableFieldError(
        f"Field {field} of table {spec.table} {reason}", table=spec.table, fields=[field]
    )
