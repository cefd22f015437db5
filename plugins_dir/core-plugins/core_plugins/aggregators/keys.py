"""Common parts of aggregators: checks of keys, and the property ``numPartitions``."""

from __future__ import annotations

from typing import Any

from localcdap.api import Schema, StageConfigurer, Type, field


def num_partitions_field() -> Any:
    """Return the property ``numPartitions``."""
    return field(
        "Number of partitions. If empty, the engine decides.",
        default=None,
        macro=True,
        name="numPartitions",
    )


def is_comparable(schema: Schema) -> bool:
    """Return whether values can be keys of groups and joins: they must not be or contain maps."""
    if schema.type is Type.MAP:
        return False
    parts = [*schema.members, *(part.schema for part in schema.fields or ())]
    if schema.items is not None:
        parts.append(schema.items)
    return all(is_comparable(part) for part in parts)


def check_comparable(stage: StageConfigurer, name: str, schema: Schema, property: str) -> bool:
    """Return whether a field's values can be keys; if not, add a failure for the property that names it."""
    if is_comparable(schema):
        return True
    stage.failures.add(
        f"Field '{name}' is or contains a map, and maps cannot be compared.",
        "Choose other fields, or drop this one in an earlier stage.",
    ).with_config_property(property, element=name).with_input_field(name)
    return False
