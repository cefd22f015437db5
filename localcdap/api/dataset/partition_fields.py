"""The partitioning of a file set, as its properties declare it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from localcdap.api.errors import DatasetPropertiesError
from localcdap.api.schema import Schema

PARTITIONING_FIELDS: Final = "partitioning.fields."
PARTITIONING_FIELD_PREFIX: Final = "partitioning.field."
FIELD_TYPES: Final = {"STRING": Schema.STRING, "LONG": Schema.LONG, "INT": Schema.INT}


def read_partitioning(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a partition's key, in order, and their types: STRING, LONG or INT.

    :raises DatasetPropertiesError: when they are missing or have another type.
    """
    text = properties.get(PARTITIONING_FIELDS)
    if not text:
        raise DatasetPropertiesError(
            "Properties do not contain partitioning",
            f"Set '{PARTITIONING_FIELDS}' to the names of the fields, and "
            f"'{PARTITIONING_FIELD_PREFIX}NAME' to the type of each: {', '.join(FIELD_TYPES)}.",
            property=PARTITIONING_FIELDS,
        )
    fields: dict[str, str] = {}
    for name in text.split(","):
        key = f"{PARTITIONING_FIELD_PREFIX}{name}"
        type = properties.get(key)
        if type is None:
            raise DatasetPropertiesError(f"Type of field '{name}' is missing", property=key)
        if type not in FIELD_TYPES:
            raise DatasetPropertiesError(
                f"Type of field '{name}' is invalid: '{type}'", property=key
            )
        if not name or name in fields:
            problem = "already exists in partitioning" if name else "has no name"
            raise DatasetPropertiesError(f"Field '{name}' {problem}.", property=PARTITIONING_FIELDS)
        fields[name] = type
    return fields


def format_partitioning(fields: Mapping[str, str]) -> str:
    """Return a partitioning for messages, as Java prints it."""
    return "{" + ", ".join(f"{name}={type}" for name, type in fields.items()) + "}"
