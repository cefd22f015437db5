"""Which values Spark can compare with each other."""

from __future__ import annotations

from localcdap.api import Schema, Type


def is_comparable(schema: Schema) -> bool:
    """Whether values can be keys of groups and joins: neither a map nor something with a map in it."""
    if schema.type is Type.MAP:
        return False
    parts = [*schema.members, *(field.schema for field in schema.fields or ())]
    if schema.items is not None:
        parts.append(schema.items)
    return all(is_comparable(part) for part in parts)
