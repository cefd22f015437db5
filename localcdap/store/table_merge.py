"""Writing rows over existing rows with the same key fields, in tables without a key (MERGE INTO).

The condition that restricts which rows match comes from a pipeline. It is checked with DuckDB's parser
before it becomes part of a statement on the instance's tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from localcdap.api.errors import StoreError
from localcdap.api.schema import Field, Schema, Type
from localcdap.api.sql_names import quote_identifier
from localcdap.api.tables import TableWrite
from localcdap.store.columns import to_column_type
from localcdap.store.store import Transaction

_TAKEN: Final = frozenset(
    (
        "BETWEEN",
        "CASE",
        "CAST",
        "COLUMN_REF",
        "COMPARISON",
        "CONJUNCTION",
        "CONSTANT",
        "FUNCTION",
        "OPERATOR",
        "TYPE",
    )
)
"""The classes of expressions (in the words of DuckDB's parser) that read only the columns of a row."""
_EMPTY: Final = ("modifiers", "group_expressions", "group_sets", "having", "sample", "qualify")
"""The parts of a query that must be empty when the text is only a condition."""


def check_condition(tx: Transaction, text: str) -> str:
    """Return a condition in parentheses.

    :raises StoreError: when it is not a condition, or uses anything but columns of the row.
    """
    # The line break ends a comment at the end of the condition.
    condition = f"({text}\n)"
    answer = tx.execute("SELECT json_serialize_sql(?)", (f"SELECT 1 WHERE {condition}",))[0][0]
    found = json.loads(answer)
    if found["error"]:
        raise _make_condition_error(text, f"is not a condition: {found['error_message']}")
    nodes = [statement["node"] for statement in found["statements"]]
    if len(nodes) != 1 or nodes[0]["type"] != "SELECT_NODE" or any(map(nodes[0].get, _EMPTY)):
        raise _make_condition_error(text, "is more than a condition")
    more = sorted(set(_find_classes(nodes[0]["where_clause"])) - _TAKEN)
    if more:
        raise _make_condition_error(text, f"has a {more[0].lower()}")
    return condition


def _find_classes(part: Any) -> Iterator[str]:
    """Find the classes of all expressions in a part of DuckDB's syntax tree."""
    if isinstance(part, list):
        for each in part:
            yield from _find_classes(each)
    elif isinstance(part, dict):
        if "class" in part:
            yield part["class"]
        for each in part.values():
            yield from _find_classes(each)


def _make_condition_error(text: str, why: str) -> StoreError:
    return StoreError(
        f"The condition '{text}' {why}.", "Compare columns of the table with values and each other."
    )


def merge(tx: Transaction, table: str, schema: Schema, source: str, how: TableWrite) -> int:
    """Update the rows that have equal keys; for an upsert, insert the rows that match no row.

    Columns that the written rows lack stay as they are, and are null in new rows.

    :param table: an SQL identifier.
    :param schema: of the rows to write.
    :param source: the rows to write, as an expression of a FROM clause.
    :returns: the number of rows changed or added.
    :raises StoreError: when several of the rows to write have equal keys and ``dedupe_by`` is empty, or when
        the condition is wrong.
    """
    keys = [quote_identifier(key) for key in how.keys]
    rows = _deduplicate(source, keys, how) if how.dedupe_by else source
    if not how.dedupe_by:
        _refuse_repeated(tx, table, source, keys)
    columns = [quote_identifier(name) for name in schema.field_names]
    rest = [column for column in columns if column not in keys] or columns[:1]
    matched = " AND ".join(f"held.{key} = given.{key}" for key in keys)
    if how.among is not None:
        tx.define_functions(how.among)
        matched = f"{check_condition(tx, how.among)} AND {matched}"
    assigned = ", ".join(f"{column} = given.{column}" for column in rest)
    made = ", ".join(f"given.{column}" for column in columns)
    inserts = f"WHEN NOT MATCHED THEN INSERT ({', '.join(columns)}) VALUES ({made})"  # noqa: S608
    changed = tx.execute(
        f"MERGE INTO {table} AS held USING (FROM {rows}) AS given ON ({matched}) "
        f"WHEN MATCHED THEN UPDATE SET {assigned} {inserts if how.operation == 'upsert' else ''}"
    )
    count: int = changed[0][0]
    return count


def _deduplicate(source: str, keys: list[str], how: TableWrite) -> str:
    """Return SQL for one row of each combination of keys; it keeps all rows with a null key."""
    order = ", ".join(
        f"{quote_identifier(each.field)} {'DESC' if each.descending else 'ASC'} NULLS LAST"
        for each in how.dedupe_by
    )
    is_whole = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    place = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {order})"
    return f"(FROM {source} QUALIFY NOT ({is_whole}) OR {place} = 1)"


def _refuse_repeated(tx: Transaction, table: str, source: str, keys: list[str]) -> None:
    is_whole = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    repeated = tx.execute(
        f"SELECT {', '.join(keys)}, count(*) FROM {source} WHERE {is_whole} "  # noqa: S608
        f"GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
    )
    if repeated:
        *values, count = repeated[0]
        shown = ", ".join(f"{key} = {value!r}" for key, value in zip(keys, values, strict=True))
        raise StoreError(
            f"{count} of the rows to write into table {table} have the same key: {shown}.",
            "Set 'dedupeBy' to choose one of them, or write each key once.",
        )


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
