"""What aggregators have in common: values that can be compared, and a number of partitions."""

from __future__ import annotations

from typing import Any

from localcdap.api import Schema, StageConfigurer, Type, field


def num_partitions_field() -> Any:
    """The property ``numPartitions``."""
    return field(
        "Number of partitions to work in. Left empty, the engine decides.",
        default=None,
        macro=True,
        name="numPartitions",
    )


def is_comparable(schema: Schema) -> bool:
    """Whether values can be keys of groups and joins: neither a map nor something with a map in it."""
    if schema.type is Type.MAP:
        return False
    parts = [*schema.members, *(part.schema for part in schema.fields or ())]
    if schema.items is not None:
        parts.append(schema.items)
    return all(is_comparable(part) for part in parts)


def check_comparable(stage: StageConfigurer, name: str, schema: Schema, property: str) -> bool:
    """Whether a field's values can be compared; if not, a failure of the property that names it is added."""
    if is_comparable(schema):
        return True
    stage.failures.add(
        f"Field '{name}' is or holds a map, and maps cannot be compared.",
        "Choose other fields, or drop this one in an earlier stage.",
    ).with_config_property(property, element=name).with_input_field(name)
    return False
