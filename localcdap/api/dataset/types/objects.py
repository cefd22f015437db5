"""The built-in dataset types that keep objects by key: each value has the schema of the object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from localcdap.api.dataset.classes.objects import (
    IndexedObjectStore,
    ObjectMappedTable,
    ObjectStore,
)
from localcdap.api.dataset.definition import dataset_type
from localcdap.api.dataset.properties import PropertyReader, parse_record_property
from localcdap.api.dataset.specification import (
    ROW_FIELD,
    SCHEMA,
    DatasetSpecification,
    StorageLayout,
    TableLayout,
)
from localcdap.api.dataset.types.tables import TableRules
from localcdap.api.errors import DatasetPropertiesError, SchemaError
from localcdap.api.schema import Schema

OBJECT_TYPE: Final = "object.type"
OBJECT_SCHEMA: Final = "object.schema"
ROW_KEY_NAME: Final = "row.key.explore.name"
ROW_KEY_TYPE: Final = "row.key.explore.type"
_KEY_TYPES: Final = {"BYTES": Schema.BYTES, "STRING": Schema.STRING}


@dataset_type("objectStore", description="Objects by key.")
class ObjectStoreDefinition(TableRules):
    """The property ``schema`` is that of an object, of any type; without it, objects are bytes."""

    dataset_class = ObjectStore

    def check(self, name: str, properties: PropertyReader) -> None:
        text = properties.get(SCHEMA)
        try:
            _ = text is None or Schema.parse(text)
        except SchemaError as error:
            raise DatasetPropertiesError(
                f"Property '{SCHEMA}' of dataset '{name}' is not a schema: {error}", property=SCHEMA
            ) from error

    def lay_out(self, specification: DatasetSpecification) -> StorageLayout:
        value = specification.get_schema() or Schema.BYTES
        rows = Schema.record("object", [("key", Schema.BYTES), ("value", value)])
        return StorageLayout({specification.name: TableLayout(rows, "key", ("key",))})


@dataset_type("indexedObjectStore", description="Objects by key, and by secondary keys.")
class IndexedObjectStoreDefinition(ObjectStoreDefinition):
    """The table ``<name>.index`` says which keys belong to a secondary key."""

    dataset_class = IndexedObjectStore

    def lay_out(self, specification: DatasetSpecification) -> StorageLayout:
        objects = super().lay_out(specification).tables
        pairs = Schema.record("index", [("secondaryKey", Schema.BYTES), ("key", Schema.BYTES)])
        index = TableLayout(pairs, None, ("secondaryKey", "key"))
        return StorageLayout({**objects, f"{specification.name}.index": index})


@dataset_type("objectMappedTable", description="Objects by key, with one column for each field.")
class ObjectMappedTableDefinition(TableRules):
    """See CDAP 6 ``ObjectMappedTableDefinition``; the key is a column of its own."""

    dataset_class = ObjectMappedTable

    def check(self, name: str, properties: PropertyReader) -> None:
        for required in (OBJECT_TYPE, OBJECT_SCHEMA):
            if properties.get(required) is None:
                raise DatasetPropertiesError(
                    f"Dataset '{name}' lacks the property '{required}'.", property=required
                )
        properties.read_choice(ROW_KEY_TYPE, tuple(_KEY_TYPES), "type of the row key")
        schema = parse_record_property(properties, OBJECT_SCHEMA)
        assert schema is not None
        key = properties.get(ROW_KEY_NAME, "rowkey")
        for field in schema:
            if not field.schema.is_simple:
                raise DatasetPropertiesError(
                    f"Field {field.name} of dataset '{name}' is of unsupported type "
                    f"{field.schema.display_name.upper()}. Must be a simple type (boolean, int, long, float, "
                    "double, string, bytes).",
                    property=OBJECT_SCHEMA,
                )
            if field.name.lower() == key.lower():
                raise DatasetPropertiesError(
                    f"Row key {key} cannot use the same column name as an object field.",
                    f"Set '{ROW_KEY_NAME}' to another name.",
                    property=ROW_KEY_NAME,
                )

    def configure(self, name: str, properties: Mapping[str, str]) -> DatasetSpecification:
        specification = super().configure(name, properties)
        layout = self.lay_out(specification).tables[name]
        specification.properties[SCHEMA] = str(layout.schema)
        specification.properties[ROW_FIELD] = layout.key or ""
        return specification

    def lay_out(self, specification: DatasetSpecification) -> StorageLayout:
        properties = PropertyReader(specification.properties)
        objects = parse_record_property(properties, OBJECT_SCHEMA)
        assert objects is not None
        key = properties.get(ROW_KEY_NAME, "rowkey")
        type = _KEY_TYPES[properties.get(ROW_KEY_TYPE, "BYTES")]
        fields = [(key, type), *((each.name, each.schema) for each in objects)]
        rows = Schema.record("record", fields)
        return StorageLayout({specification.name: TableLayout(rows, key, (key,))})
