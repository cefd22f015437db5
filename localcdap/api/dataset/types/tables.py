"""The built-in dataset types that keep rows in one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from localcdap.api.dataset.classes.tables import CellTable, IndexedTable, KeyValueTable, Table
from localcdap.api.dataset.classes.time_series import CounterTimeseriesTable, TimeseriesTable
from localcdap.api.dataset.dataset import Dataset, DatasetContext
from localcdap.api.dataset.definition import DatasetDefinition, dataset_type
from localcdap.api.dataset.properties import (
    PropertyReader,
    compare_layouts,
    parse_record_property,
    refuse_changes,
)
from localcdap.api.dataset.specification import (
    ROW_FIELD,
    SCHEMA,
    DatasetSpecification,
    StorageLayout,
    TableLayout,
    build_specification,
)
from localcdap.api.errors import DatasetPropertiesError
from localcdap.api.schema import Schema
from localcdap.api.tables import KEY, VALUE

TTL: Final = "dataset.table.ttl"
CONFLICT_LEVEL: Final = "conflict.level"
COLUMN_FAMILY: Final = "dataset.table.column.family"
READLESS_INCREMENT: Final = "dataset.table.readless.increment"
TRANSACTIONS_DISABLED: Final = "dataset.table.tx.disabled"
COLUMNS_TO_INDEX: Final = "columnsToIndex"
INTERVAL: Final = "timeIntervalToStorePerRow"
_HOUR_MS: Final = 3_600_000
_CONFLICT_LEVELS: Final = ("ROW", "COLUMN", "NONE")
_CELLS: Final = Schema.record(
    "row", [("row", Schema.BYTES), ("columns", Schema.map(Schema.STRING, Schema.BYTES))]
)
"""The row of a table without a schema: a key, and values by column name."""


class TableRules(DatasetDefinition):
    """The properties that all types on tables have (CDAP 6 ``AbstractTableDefinition``)."""

    def configure(self, name: str, properties: Mapping[str, str]) -> DatasetSpecification:
        reader = PropertyReader(properties)
        reader.read_choice(CONFLICT_LEVEL, _CONFLICT_LEVELS, "conflict detection level")
        reader.read_whole_number(TTL)
        self.check(name, reader)
        return build_specification(name, self.name, properties)

    def check(self, name: str, properties: PropertyReader) -> None:
        """Check the properties of this type.

        :raises DatasetPropertiesError: when they are invalid.
        """
        parse_record_property(properties, SCHEMA)

    def reconfigure(
        self, name: str, properties: Mapping[str, str], current: DatasetSpecification
    ) -> DatasetSpecification:
        reader, old = PropertyReader(properties), PropertyReader(current.properties)
        specification = self.configure(name, properties)
        refuse_changes(
            _compare_table_flags(old, reader),
            self.compare(old, reader),
            compare_layouts(self, current, specification),
        )
        return specification

    def compare(self, old: PropertyReader, new: PropertyReader) -> list[str]:
        """Return why a change of the properties of this type is refused, besides that of its schema."""
        return []

    def list_ignored(self, properties: Mapping[str, str]) -> list[str]:
        ignored = []
        if PropertyReader(properties).read_whole_number(TTL) > 0:
            ignored.append(f"'{TTL}' has no effect: rows are kept until they are deleted.")
        return ignored


def _compare_table_flags(old: PropertyReader, new: PropertyReader) -> list[str]:
    reasons = []
    was, is_now = (not each.read_flag(TRANSACTIONS_DISABLED) for each in (old, new))
    if was is not is_now:
        reasons.append(
            "Attempt to change whether the table is transactional from "
            f"{str(was).lower()} to {str(is_now).lower()}."
        )
    if old.read_flag(READLESS_INCREMENT) and not new.read_flag(READLESS_INCREMENT):
        reasons.append("Attempt to disable read-less increments.")
    before, after = old.get(COLUMN_FAMILY, "d"), new.get(COLUMN_FAMILY, "d")
    if before != after:
        reasons.append(f"Attempt to change the column family from '{before}' to '{after}'.")
    return reasons


@dataset_type(
    "table",
    description="Rows with the columns of a schema, or with any columns when there is none.",
)
class TableDefinition(TableRules):
    """The property ``schema.row.field`` names the key of a row; without it, rows are only added."""

    dataset_class: ClassVar[type[Dataset]] = Table

    def get_dataset(self, context: DatasetContext, specification: DatasetSpecification) -> Dataset:
        if specification.get_schema() is None:
            return CellTable(context, specification)
        return self.dataset_class(context, specification)

    def check(self, name: str, properties: PropertyReader) -> None:
        super().check(name, properties)
        schema, key = parse_record_property(properties, SCHEMA), properties.get(ROW_FIELD)
        if schema is None or key is None:
            return
        field = schema.field(key)
        if field is None or not field.schema.is_simple:
            raise DatasetPropertiesError(
                f"The row field '{key}' of dataset '{name}' must be a field of its schema, of a simple type.",
                f"Set '{ROW_FIELD}' to one of {', '.join(f.name for f in schema if f.schema.is_simple)}.",
                property=ROW_FIELD,
            )

    def compare(self, old: PropertyReader, new: PropertyReader) -> list[str]:
        before, after = old.get(ROW_FIELD), new.get(ROW_FIELD)
        if before == after or old.get(SCHEMA) is None:
            return []
        why = "unique by the old one" if before else "not unique by it"
        return [
            f"Attempt to change the row field from '{before}' to '{after}': the existing rows are {why}."
        ]

    def lay_out(self, specification: DatasetSpecification) -> StorageLayout:
        schema = specification.get_schema()
        if schema is None:
            return _lay_out_one(specification, _CELLS, "row")
        return _lay_out_one(specification, schema, specification.properties.get(ROW_FIELD))


@dataset_type("keyValueTable", description="Values by key.")
class KeyValueTableDefinition(TableRules):
    """Keys and values are bytes; a schema with the fields ``key`` and ``value`` may say string instead."""

    dataset_class = KeyValueTable

    def check(self, name: str, properties: PropertyReader) -> None:
        schema = parse_record_property(properties, SCHEMA)
        if schema is None:
            return
        types = {each.name: each.schema.non_nullable for each in schema}
        if sorted(types) != [KEY, VALUE] or not set(types.values()) <= {
            Schema.BYTES,
            Schema.STRING,
        }:
            raise DatasetPropertiesError(
                f"The schema of key-value table '{name}' must have two fields, '{KEY}' and '{VALUE}', "
                "of type bytes or string.",
                property=SCHEMA,
            )

    def lay_out(self, specification: DatasetSpecification) -> StorageLayout:
        given = specification.get_schema()
        fields = given or Schema.record("keyValue", [(KEY, Schema.BYTES), (VALUE, Schema.BYTES)])
        return StorageLayout({specification.name: TableLayout(fields, KEY, (KEY,))})


@dataset_type("indexedTable", description="A table whose rows are also found by other columns.")
class IndexedTableDefinition(TableDefinition):
    """The property ``columnsToIndex`` names the columns, separated by commas."""

    dataset_class: ClassVar[type[Dataset]] = IndexedTable

    def check(self, name: str, properties: PropertyReader) -> None:
        super().check(name, properties)
        columns = _parse_columns(properties)
        schema = parse_record_property(properties, SCHEMA)
        missing = [each for each in columns if schema is not None and schema.field(each) is None]
        if missing:
            raise DatasetPropertiesError(
                f"The columns to index of dataset '{name}' are not in its schema: {', '.join(missing)}.",
                f"Use {', '.join(schema.field_names if schema else ())}.",
                property=COLUMNS_TO_INDEX,
            )

    def compare(self, old: PropertyReader, new: PropertyReader) -> list[str]:
        reasons = super().compare(old, new)
        if set(_parse_columns(old)) != set(_parse_columns(new)):
            reasons.append(
                f"Attempt to change columns to index from '{old.get(COLUMNS_TO_INDEX)}' to "
                f"'{new.get(COLUMNS_TO_INDEX)}'"
            )
        return reasons

    def lay_out(self, specification: DatasetSpecification) -> StorageLayout:
        table = super().lay_out(specification).tables[specification.name]
        columns = _parse_columns(PropertyReader(specification.properties))
        keyed = [table.key] if table.key is not None else []
        indexes = tuple(
            dict.fromkeys(
                each for each in (*keyed, *columns) if table.schema.field(each) is not None
            )
        )
        return StorageLayout({specification.name: TableLayout(table.schema, table.key, indexes)})


class _TimeSeriesRules(TableRules):
    """Values by key, time and tags (CDAP 6 ``TimeseriesTableDefinition``).

    The property ``timeIntervalToStorePerRow`` arranged the rows of HBase; here only its rule remains.
    """

    value: Schema

    def check(self, name: str, properties: PropertyReader) -> None:
        properties.read_whole_number(INTERVAL, _HOUR_MS)

    def compare(self, old: PropertyReader, new: PropertyReader) -> list[str]:
        before, after = (each.read_whole_number(INTERVAL, _HOUR_MS) for each in (old, new))
        if before == after:
            return []
        return [f"Attempt to change the time interval stored per row from {before} to {after}"]

    def lay_out(self, specification: DatasetSpecification) -> StorageLayout:
        tags = Schema.array(Schema.BYTES)
        fields = [
            ("key", Schema.BYTES),
            ("time", Schema.LONG),
            ("tags", tags),
            ("value", self.value),
        ]
        return _lay_out_one(specification, Schema.record("entry", fields), None)


@dataset_type("timeseriesTable", description="Values by key, time and tags.")
class TimeseriesTableDefinition(_TimeSeriesRules):
    dataset_class = TimeseriesTable
    value = Schema.BYTES


@dataset_type("counterTimeseriesTable", description="Counters by key, time and tags.")
class CounterTimeseriesTableDefinition(_TimeSeriesRules):
    dataset_class = CounterTimeseriesTable
    value = Schema.LONG


def _parse_columns(properties: PropertyReader) -> list[str]:
    text = properties.get(COLUMNS_TO_INDEX)
    if text is None:
        raise DatasetPropertiesError(
            f"{COLUMNS_TO_INDEX} must be specified", property=COLUMNS_TO_INDEX
        )
    return list(dict.fromkeys(text.split(",")))


def _lay_out_one(
    specification: DatasetSpecification, schema: Schema, key: str | None
) -> StorageLayout:
    return StorageLayout({specification.name: TableLayout(schema, key)})
