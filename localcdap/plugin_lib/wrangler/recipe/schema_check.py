"""Compares the declared schema of a recipe's output with the columns that its directives make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from localcdap.api.arrow import MAX_DECIMAL_PRECISION
from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Field, LogicalType, Schema, Type

_NUMBERS: Final = (Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE)
_TAKEN: Final = {
    Type.INT: (Type.INT, Type.LONG),  # the whole numbers of expressions, which mostly fit
    Type.LONG: (Type.INT, Type.LONG),
    Type.FLOAT: (Type.INT, Type.LONG, Type.FLOAT),
    Type.DOUBLE: _NUMBERS,
    Type.BOOLEAN: (Type.BOOLEAN,),
    Type.BYTES: (Type.BYTES,),
}
"""By the type of a field, the types whose values it takes."""


class SchemaMismatch(msgspec.Struct, frozen=True):
    """A declared field that no row can fill, or that is null in every row."""

    field: str
    message: str
    corrective_action: str
    is_warning: bool = False
    """Whether the field is null in every row, which is allowed."""


def find_schema_mismatches(columns: Columns, declared: Schema) -> Iterator[SchemaMismatch]:
    """Find the declared fields that are known to fail, or to be null, for every row."""
    for field in declared:
        if (field.schema.non_nullable.precision or 0) > MAX_DECIMAL_PRECISION:
            yield _report_precision(field)
            continue
        if columns.is_missing(field.name):
            yield _report_missing(field, columns)
            continue
        source = columns.schema(field.name)
        if source is not None and not can_become(source, field.schema):
            yield SchemaMismatch(
                field.name,
                f"Field '{field.name}' is {_describe(source)} after the recipe, and cannot become "
                f"{_describe(field.schema)} as the output schema says.",
                f"Change its type there, or add 'set-type :{field.name} …' to the recipe.",
            )


def _report_precision(field: Field) -> SchemaMismatch:
    """Report a decimal with too many digits.

    Wrangler of CDAP 6.8 and later proposes 77 digits, 38 of them after the point, for ``set-type`` without a
    scale.
    """
    return SchemaMismatch(
        field.name,
        f"Field '{field.name}' has {field.schema.non_nullable.precision} digits in the output schema, and "
        f"Spark's decimals at most {MAX_DECIMAL_PRECISION}.",
        f"Declare fewer, and say how many stand after the point: set-type :{field.name} decimal 9",
    )


def _report_missing(field: Field, columns: Columns) -> SchemaMismatch:
    is_null = field.schema.is_nullable or field.schema.type is Type.NULL
    what = f"No directive makes the field '{field.name}' of the output schema, which "
    return SchemaMismatch(
        field.name,
        what + ("is null in every record." if is_null else "must not be null."),
        f"The columns after the recipe: {', '.join(columns) or 'none'}.",
        is_warning=is_null,
    )


def can_become(source: Schema, target: Schema) -> bool:
    """Whether any value of one schema can be converted to another."""
    source, target = source.non_nullable, target.non_nullable
    if source.type is Type.NULL or source.type is Type.UNION or target.type is Type.UNION:
        return True
    if source == target:
        return True
    if target.logical_type is not None:
        return _can_become_logical(source, target)
    if target.type is Type.STRING:
        return True
    if target.type is Type.ENUM:
        return source.type in (Type.STRING, Type.ENUM)
    if source.type is Type.STRING and source.logical_type is None:
        return target.type.is_simple
    if source.logical_type is not None:
        is_real = target.type in (Type.FLOAT, Type.DOUBLE)
        return source.logical_type is LogicalType.DECIMAL and is_real
    if target.type in _TAKEN:
        return source.type in _TAKEN[target.type]
    return source.type is target.type or {source.type, target.type} == {Type.MAP, Type.RECORD}


def _can_become_logical(source: Schema, target: Schema) -> bool:
    if source.type is Type.STRING and source.logical_type is None:
        return True
    if target.logical_type is LogicalType.DECIMAL:
        return source.logical_type is LogicalType.DECIMAL or source.type in _NUMBERS
    return source.logical_type is not None and _find_family(source) == _find_family(target)


def _find_family(schema: Schema) -> str:
    """Return the part of a logical type that does not depend on its unit."""
    assert schema.logical_type is not None
    return schema.logical_type.value.partition("-")[0]


def _describe(schema: Schema) -> str:
    name = schema.display_name
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"
