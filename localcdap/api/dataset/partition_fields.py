"""The partitioning of a file set, as its properties declare it.

In a file set that no dataset lists, folders tell the partitions by their names. CDAP names a partition's
folder after its time: ``2015-01-20/20-42.1421786520000``, or ``1421786520000`` for a snapshot. A folder of
any other name has the file ``.partition.json`` with the time, as earlier versions of localcdap wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from localcdap.api.errors import DatasetPropertiesError
from localcdap.api.schema import Schema
from localcdap.decoders import decode_json

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


_MARK: Final = ".partition.json"
_NAMED: Final = re.compile(r"(?:.*\.)?(\d{10,})")
"""A partition's name; its end is the time in milliseconds since 1970."""


class PartitionFolder(NamedTuple):
    """A folder that is a partition."""

    time_ms: int
    """Milliseconds since 1970."""
    path: Path


class _Mark(msgspec.Struct):
    time: int


def list_partition_folders(folder: Path) -> list[PartitionFolder]:
    """Return the partitions of a file set, oldest first; none if the folder does not exist."""
    return sorted(_find_partitions(folder))


def _find_partitions(directory: Path) -> Iterator[PartitionFolder]:
    if not directory.is_dir():
        return
    for each in directory.iterdir():
        if not each.is_dir() or each.name.startswith((".", "_")):
            continue
        time_ms = _read_time(each)
        if time_ms is not None:
            yield PartitionFolder(time_ms, each)
        else:
            yield from _find_partitions(each)


def _read_time(directory: Path) -> int | None:
    try:
        return decode_json((directory / _MARK).read_bytes(), type=_Mark).time
    except (OSError, msgspec.DecodeError):
        named = _NAMED.fullmatch(directory.name)
        return int(named[1]) if named else None
