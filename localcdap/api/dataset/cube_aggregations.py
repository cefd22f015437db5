"""The resolutions and aggregations of a cube, as its properties declare them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from localcdap.api.errors import DatasetPropertiesError

RESOLUTIONS: Final = "dataset.cube.resolutions"
AGGREGATION_PREFIX: Final = "dataset.cube.aggregation."
_DIMENSIONS: Final = "dimensions"
_REQUIRED: Final = "requiredDimensions"


class Aggregation(msgspec.Struct, frozen=True):
    """The dimensions by which facts are aggregated."""

    dimensions: tuple[str, ...]
    required: tuple[str, ...] = ()
    """A fact without one of these is not counted."""


def read_resolutions(properties: Mapping[str, str]) -> list[int]:
    """Return the resolutions in seconds; by default, one second.

    :raises DatasetPropertiesError: when one is not a positive whole number.
    """
    text = properties.get(RESOLUTIONS, "1")
    parts = text.split(",")
    for part in parts:
        if not part.isascii() or not part.isdigit() or int(part) == 0:
            raise DatasetPropertiesError(
                f"Invalid resolution value {part} in property {RESOLUTIONS}.", property=RESOLUTIONS
            )
    return list(dict.fromkeys(int(part) for part in parts))


def read_aggregations(properties: Mapping[str, str]) -> dict[str, Aggregation]:
    """Return the aggregations by name, as the properties ``dataset.cube.aggregation.NAME.…`` declare them.

    :raises DatasetPropertiesError: for any other property that begins so.
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for key, value in properties.items():
        if not key.startswith(AGGREGATION_PREFIX):
            continue
        name, dot, part = key.removeprefix(AGGREGATION_PREFIX).partition(".")
        if not dot or part not in (_DIMENSIONS, _REQUIRED):
            raise DatasetPropertiesError(f"Invalid property: {key}", property=key)
        found.setdefault(name, {})[part] = tuple(value.split(","))
    aggregations = {}
    for name, parts in found.items():
        if _DIMENSIONS in parts:
            aggregations[name] = Aggregation(parts[_DIMENSIONS], parts.get(_REQUIRED, ()))
    return aggregations
