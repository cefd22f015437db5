"""The built-in dataset type ``cube``: measurements, aggregated by time and dimensions."""

from __future__ import annotations

from typing import Final

from localcdap.api.dataset.classes.cube import Cube
from localcdap.api.dataset.cube_aggregations import read_aggregations, read_resolutions
from localcdap.api.dataset.definition import dataset_type
from localcdap.api.dataset.properties import PropertyReader
from localcdap.api.dataset.specification import DatasetSpecification, StorageLayout, TableLayout
from localcdap.api.dataset.types.tables import TableRules
from localcdap.api.schema import Schema

FACT: Final = Schema.record(
    "fact",
    [
        ("aggregation", Schema.STRING),
        ("time", Schema.LONG),
        ("dimensions", Schema.map(Schema.STRING, Schema.STRING)),
        ("measure", Schema.STRING),
        ("value", Schema.LONG),
    ],
)
"""A row of a cube's table: a cell. Counters of a cell may be in several rows, which a query adds up."""


@dataset_type("cube", description="Measurements, aggregated by time and dimensions.")
class CubeDefinition(TableRules):
    """One table for each resolution, ``<name>.<seconds>`` (CDAP 6 ``CubeDatasetDefinition``).

    Resolutions and aggregations may change; facts from before are not aggregated again.
    """

    dataset_class = Cube

    def check(self, name: str, properties: PropertyReader) -> None:
        read_resolutions(properties.properties)
        read_aggregations(properties.properties)

    def lay_out(self, specification: DatasetSpecification) -> StorageLayout:
        names = (
            f"{specification.name}.{each}" for each in read_resolutions(specification.properties)
        )
        return StorageLayout({name: TableLayout(FACT) for name in names})
