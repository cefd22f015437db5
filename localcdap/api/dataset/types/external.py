"""The built-in dataset type ``externalDataset``: data of another system, named for lineage and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from localcdap.api.dataset.definition import DatasetAdmin, DatasetDefinition, dataset_type
from localcdap.api.dataset.properties import PropertyReader, parse_record_property
from localcdap.api.dataset.specification import (
    SCHEMA,
    DatasetSpecification,
    StorageLayout,
    TableLayout,
    build_specification,
)

EXTERNAL_TYPE: Final = "externalDataset"
TABLE: Final = "table"
"""The property with the name of the table that stands in for the data of the other system."""


class ExternalDatasetAdmin(DatasetAdmin):
    """The other system, or what stands in for it, decides how the data changes."""

    def update(self, old: DatasetSpecification) -> None: ...

    def create(self) -> None: ...

    def truncate(self) -> None:
        if self._has_own_table():
            super().truncate()

    def drop(self) -> None:
        if self._has_own_table():
            super().drop()

    def _has_own_table(self) -> bool:
        """Return whether the table has its name. Another table may also stand in for other datasets."""
        return self.specification.properties.get(TABLE) == self.specification.name


@dataset_type(EXTERNAL_TYPE, description="Data of another system, named for lineage and metadata.")
class ExternalDatasetDefinition(DatasetDefinition):
    """Every change of its properties is compatible."""

    admin_class = ExternalDatasetAdmin

    def configure(self, name: str, properties: Mapping[str, str]) -> DatasetSpecification:
        parse_record_property(PropertyReader(properties), SCHEMA)
        return build_specification(name, self.name, properties)

    def lay_out(self, specification: DatasetSpecification) -> StorageLayout:
        schema, table = specification.get_schema(), specification.properties.get(TABLE)
        if schema is None or table is None:
            return StorageLayout()
        return StorageLayout({table: TableLayout(schema)})
