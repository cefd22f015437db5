"""The schema of a table after rows of another schema are written into it."""

from __future__ import annotations

from typing import Final

from localcdap.api.errors import StoreError
from localcdap.api.schema import Field, Schema, Type
from localcdap.store.columns import to_column_type

_FITS_INTO: Final = {
    Type.INT: (Type.LONG, Type.DOUBLE),
    Type.FLOAT: (Type.DOUBLE,),
    Type.ENUM: (Type.STRING,),
}
"""The other column types that can hold every value of a type."""
_WIDER: Final = {Schema.INT: Schema.LONG, Schema.FLOAT: Schema.DOUBLE}


def merge_table_schema(table: str, held: Schema, written: Schema) -> Schema:
    """Return the table's schema after the write: its fields, then the new ones.

    A field that is missing or nullable on one side becomes nullable. No column changes its type, except a
    column that was always null.

    :param table: the table's name, for messages.
    :raises StoreError: for the first field whose values do not fit the table's column.
    """
    fields = []
    for field in held:
        other = written.field(field.name)
        both = (
            field.schema.as_nullable
            if other is None
            else merge_column_schema(field.schema, other.schema)
        )
        if both is None:
            assert other is not None
            raise StoreError(
                f"Table '{table}' holds {describe_type(field.schema)} in column '{field.name}', but the "
                f"rows to "
                f"write hold {describe_type(other.schema)}.",
                "Convert the field before it is written, rename it, or drop the table.",
            )
        fields.append(Field(field.name, both))
    fields += [Field(f.name, f.schema.as_nullable) for f in written if held.field(f.name) is None]
    return Schema.record(held.name or "record", fields)


def widen_numbers(held: Schema, written: Schema) -> Schema:
    """Return a schema whose int and float columns are as wide as in the rows to write, nested ones too."""
    inner, other = held.non_nullable, written.non_nullable
    wide = inner
    if inner.items is not None and other.items is not None:
        wide = Schema.array(widen_numbers(inner.items, other.items))
    elif inner.type is Type.RECORD and inner.fields:
        members = [(member, other.field(member.name)) for member in inner] if other.fields else []
        wide = (
            Schema.record(
                inner.name or "record",
                [
                    Field(
                        member.name,
                        widen_numbers(member.schema, rows.schema) if rows else member.schema,
                    )
                    for member, rows in members
                ],
            )
            if members
            else inner
        )
    elif inner in _WIDER and other == _WIDER[inner]:
        wide = other
    return wide.as_nullable if held.is_nullable else wide


def refuse_relaxation(table: str, held: Schema, written: Schema, merged: Schema) -> None:
    """Check that a write needs no change of the table.

    :param merged: the schema of the table after the write, see :func:`merge_table_schema`.
    :raises StoreError: when it does; the message names every column that would be new or change.
    """
    problems = []
    for field in merged:
        before, rows = held.field(field.name), written.field(field.name)
        if before is None:
            problems.append(f"has no column '{field.name}'")
        elif before.schema == field.schema:
            continue
        elif before.schema.non_nullable == field.schema.non_nullable:
            lack = "do" if rows is not None else "lack it"
            problems.append(f"allows no null in column '{field.name}', the rows to write {lack}")
        else:
            types = describe_type(before.schema), describe_type(field.schema)
            problems.append(
                f"holds {types[0]} in column '{field.name}', the rows to write {types[1]}"
            )
    if problems:
        raise StoreError(
            f"Table '{table}' {'; it '.join(problems)}.",
            "Allow its schema to be relaxed; or update the dataset, with 'localcdap datasets update' or by a "
            "run with --update-datasets; or change the rows before they are written.",
        )


def merge_column_schema(held: Schema, written: Schema) -> Schema | None:
    """Return the schema of a column for the values of both; None when the column cannot hold the new ones."""
    nullable = any(s.is_nullable or s.type is Type.NULL for s in (held, written))
    both = _merge_types(held.non_nullable, written.non_nullable)
    return both.as_nullable if both is not None and nullable else both


def _merge_types(held: Schema, written: Schema) -> Schema | None:
    if held == written or written.type is Type.NULL:
        return held
    if held.type is Type.NULL:
        return written
    if held.logical_type is not None or written.logical_type is not None:
        return held if _has_same_column_type(held, written) else None
    if written.type is not held.type:
        return held if held.type in _FITS_INTO.get(written.type, ()) else None
    match held.type:
        case Type.ENUM:
            return Schema.enum(dict.fromkeys((*held.symbols, *written.symbols)))
        case Type.ARRAY if held.items and written.items:
            items = _merge_nested(held.items, written.items)
            return items and Schema.array(items)
        case Type.MAP if held.keys and written.keys and held.values and written.values:
            keys, values = (
                _merge_nested(held.keys, written.keys),
                _merge_nested(held.values, written.values),
            )
            return keys and values and Schema.map(keys, values)
        case Type.RECORD:
            return _merge_records(held, written)
        case _:
            return None


def _has_same_column_type(held: Schema, written: Schema) -> bool:
    """Return whether two logical types have the same column type, such as timestamps in ms and in µs."""
    return held.logical_type is not None and (
        written.logical_type is not None and to_column_type(held) == to_column_type(written)
    )


def _merge_nested(held: Schema, written: Schema) -> Schema | None:
    """Merge the schemas of a part of a nested column, whose column type must not change."""
    both = merge_column_schema(held, written)
    return both if both is not None and to_column_type(both) == to_column_type(held) else None


def _merge_records(held: Schema, written: Schema) -> Schema | None:
    if set(held.field_names) != set(written.field_names):
        return None
    fields = []
    for field in held:
        other = written.field(field.name)
        both = _merge_nested(field.schema, other.schema) if other else None
        if both is None:
            return None
        fields.append(Field(field.name, both))
    return Schema.record(held.name or "record", fields)


def describe_type(schema: Schema) -> str:
    """Return a type for messages: ``long``, ``decimal(10, 2)``, or the column type of a nested one."""
    inner = schema.non_nullable
    if inner.logical_type is None and not inner.is_simple and inner.type is not Type.ENUM:
        return to_column_type(inner)
    if inner.precision is not None:
        return f"decimal({inner.precision}, {inner.scale})"
    return inner.display_name
