"""The built-in dataset type ``cube``: measurements, aggregated by time and dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from localcdap.api.dataset.definition import dataset_type
from localcdap.api.dataset.properties import PropertyReader
from localcdap.api.dataset.specification import DatasetSpecification, StorageLayout, TableLayout
from localcdap.api.dataset.types.tables import TableRules
from localcdap.api.errors import DatasetPropertiesError
from localcdap.api.schema import Schema

RESOLUTIONS: Final = "dataset.cube.resolutions"
AGGREGATION_PREFIX: Final = "dataset.cube.aggregation."
_DIMENSIONS: Final = "dimensions"
_REQUIRED: Final = "requiredDimensions"
_FACT: Final = Schema.record(
    "fact",
    [
        ("aggregation", Schema.STRING),
        ("time", Schema.LONG),
        ("dimensions", Schema.map(Schema.STRING, Schema.STRING)),
        ("measure", Schema.STRING),
        ("value", Schema.LONG),
    ],
)


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


@dataset_type("cube", description="Measurements, aggregated by time and dimensions.")
class CubeDefinition(TableRules):
    """One table for each resolution, ``<name>.<seconds>`` (CDAP 6 ``CubeDatasetDefinition``).

    Resolutions and aggregations may change; facts from before are not aggregated again.
    """

    def check(self, name: str, properties: PropertyReader) -> None:
        read_resolutions(properties.properties)
        read_aggregations(properties.properties)

    def lay_out(self, specification: DatasetSpecification) -> StorageLayout:
        names = (
            f"{specification.name}.{each}" for each in read_resolutions(specification.properties)
        )
        return StorageLayout({name: TableLayout(_FACT) for name in names})
