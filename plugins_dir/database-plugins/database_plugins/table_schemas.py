"""The one schema that the records of several tables have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from localcdap.api import Schema, Type

_WHOLE: Final = frozenset((Type.INT, Type.LONG))
_FRACTIONS: Final = frozenset((Type.INT, Type.FLOAT, Type.DOUBLE))
"""The types whose values are all doubles."""


def unite_schemas(tables: Sequence[Schema]) -> tuple[Schema, dict[str, list[str]]]:
    """Return the schema that the records of all tables have, and the fields whose types differ.

    It has the columns of all tables, by name. Those that not every table has may be null. Numbers of several
    types become the type that has them all, and anything else of several types becomes a text.

    :param tables: their schemas, which have the names of the tables.
    :returns: the schema; and by field, its types with their tables, for messages.
    """
    found: dict[str, list[tuple[str | None, Schema]]] = {}
    for table in tables:
        for each in table:
            found.setdefault(each.name, []).append((table.name, each.schema))
    fields, different = [], {}
    for name, given in found.items():
        kinds = {schema.non_nullable for _, schema in given}
        common = _find_common(kinds)
        if len(kinds) > 1:
            different[name] = [f"{schema.display_name} in '{table}'" for table, schema in given]
        may_be_null = len(given) < len(tables) or any(schema.is_nullable for _, schema in given)
        fields.append((name, common.as_nullable if may_be_null else common))
    return Schema.record("tables", fields), different


def _find_common(kinds: set[Schema]) -> Schema:
    if len(kinds) == 1:
        return next(iter(kinds))
    if all(each.logical_type is None for each in kinds):
        types = {each.type for each in kinds}
        if types <= _WHOLE:
            return Schema.LONG
        if types <= _FRACTIONS:
            return Schema.DOUBLE
    return Schema.STRING
