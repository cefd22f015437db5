"""Which updates of the built-in dataset types are compatible (facts 9.3 and story 4 of document 004)."""

from __future__ import annotations

import pytest

from localcdap.api.dataset.specification import DatasetSpecification
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.errors import DatasetPropertiesError, IncompatibleUpdateError
from localcdap.api.schema import Schema

OLD = str(Schema.record("r", [("id", Schema.INT), ("n", Schema.STRING.as_nullable)]))
PARTITIONED = {
    "partitioning.fields.": "league,season",
    "partitioning.field.league": "STRING",
    "partitioning.field.season": "INT",
}
OBJECTS = {
    "object.type": "Purchase",
    "object.schema": '{"type":"record","name":"p","fields":[{"name":"price","type":"long"}]}',
}


def schema(*fields: tuple[str, Schema]) -> dict[str, str]:
    return {"schema": str(Schema.record("r", fields))}


def update(type: str, old: dict[str, str], new: dict[str, str]) -> DatasetSpecification:
    definition = BUILT_IN_TYPES[type]
    return definition.reconfigure("d", new, definition.configure("d", old))


@pytest.mark.parametrize(
    ("type", "old", "new", "message"),
    [
        pytest.param(
            "table",
            {"dataset.table.tx.disabled": "true"},
            {},
            "Attempt to change whether the table is transactional from false to true.",
            id="transactional",
        ),
        pytest.param(
            "table",
            {"dataset.table.readless.increment": "TRUE"},
            {"dataset.table.readless.increment": "no"},
            "Attempt to disable read-less increments.",
            id="increments",
        ),
        pytest.param(
            "keyValueTable",
            {},
            {"dataset.table.column.family": "x"},
            "Attempt to change the column family from 'd' to 'x'.",
            id="family",
        ),
        pytest.param(
            "table",
            {"schema": OLD, "schema.row.field": "id"},
            {"schema": OLD, "schema.row.field": "n"},
            "Attempt to change the row field from 'id' to 'n'",
            id="row-field",
        ),
        pytest.param(
            "indexedTable",
            {"columnsToIndex": "a,b"},
            {"columnsToIndex": "a,c"},
            "Attempt to change columns to index from 'a,b' to 'a,c'",
            id="index",
        ),
        pytest.param(
            "fileSet",
            {"data.external": "true", "base.path": "/x"},
            {"base.path": "/x"},
            "Cannot convert external file set 'd' to non-external.",
            id="internalized",
        ),
        pytest.param(
            "fileSet",
            {"base.path": "a"},
            {"base.path": "b"},
            "Cannot change the base path of non-external file set 'd'.",
            id="moved",
        ),
        pytest.param(
            "partitionedFileSet",
            PARTITIONED,
            {**PARTITIONED, "partitioning.fields.": "season,league"},
            "Partitioning cannot be changed. Existing: {league=STRING, season=INT}, new: {season=INT, "
            "league=STRING}",
            id="partitioning",
        ),
        pytest.param(
            "timePartitionedFileSet",
            {},
            {"partitioning.fields.": "year", "partitioning.field.year": "INT"},
            "Partitioning cannot be changed. Existing: {year=INT, month=INT",
            id="times",
        ),
        pytest.param(
            "timeseriesTable",
            {"timeIntervalToStorePerRow": "60000"},
            {},
            "Attempt to change the time interval stored per row from 60000 to 3600000",
            id="interval",
        ),
        pytest.param(
            "counterTimeseriesTable",
            {},
            {"timeIntervalToStorePerRow": "1"},
            "Attempt to change the time interval stored per row from 3600000 to 1",
            id="counter-interval",
        ),
    ],
)
def test_incompatible_updates(type, old, new, message):
    with pytest.raises(IncompatibleUpdateError) as error:
        update(type, old, new)

    assert message in error.value.message


@pytest.mark.parametrize(
    ("type", "old", "new"),
    [
        pytest.param(
            "table", {}, {"dataset.table.ttl": "3600", "conflict.level": "ROW"}, id="table"
        ),
        pytest.param(
            "table", {}, {"dataset.table.readless.increment": "true"}, id="enabled-increments"
        ),
        pytest.param("table", {}, {"dataset.table.column.family": "d"}, id="default-family"),
        pytest.param(
            "indexedTable", {"columnsToIndex": "a,b"}, {"columnsToIndex": "b,a,b"}, id="index-order"
        ),
        pytest.param(
            "fileSet",
            {"base.path": "a"},
            {"base.path": "/b", "data.external": "true"},
            id="external",
        ),
        pytest.param(
            "fileSet",
            {"data.external": "true", "base.path": "/a"},
            {"data.external": "true", "base.path": "/b"},
            id="external-moved",
        ),
        pytest.param("fileSet", {}, {"format": "avro", **schema(("a", Schema.INT))}, id="format"),
        pytest.param("partitionedFileSet", PARTITIONED, {**PARTITIONED, "x": "y"}, id="partitions"),
        pytest.param(
            "objectMappedTable", OBJECTS, {**OBJECTS, "object.type": "Sale"}, id="objects"
        ),
        pytest.param("objectStore", {}, {"type": "Purchase"}, id="store"),
        pytest.param(
            "timeseriesTable", {}, {"timeIntervalToStorePerRow": "3600000"}, id="default-interval"
        ),
        pytest.param("cube", {}, {"dataset.cube.resolutions": "1,60"}, id="cube"),
        pytest.param("externalDataset", {"a": "1"}, {"b": "2"}, id="external-dataset"),
    ],
)
def test_compatible_updates(type, old, new):
    definition = BUILT_IN_TYPES[type]

    assert update(type, old, new) == definition.configure("d", new)


@pytest.mark.parametrize("type", ["table", "fileSet"])
def test_all_reasons_of_an_incompatible_schema_come_at_once(type):
    new = schema(("id", Schema.STRING), ("extra", Schema.LONG))

    with pytest.raises(IncompatibleUpdateError) as error:
        update(type, {"schema": OLD}, new)

    assert error.value.reasons == [
        "Dataset 'd': field 'id' cannot change from int to string: string does not hold every value of int.",
        "Dataset 'd': field 'n' (string or null) cannot be dropped.",
        "Dataset 'd': new field 'extra' (long) must allow null: the rows until now have no value of it.",
    ]


def test_flags_and_schema_are_refused_together():
    with pytest.raises(IncompatibleUpdateError) as error:
        update(
            "table",
            {"schema": OLD, "dataset.table.readless.increment": "true"},
            schema(("id", Schema.INT)),
        )

    assert len(error.value.reasons) == 2


@pytest.mark.parametrize(
    ("type", "properties", "message"),
    [
        ("table", {"conflict.level": "CELL"}, "Invalid conflict detection level: CELL"),
        ("table", {"dataset.table.ttl": "soon"}, "'dataset.table.ttl' must be a whole number"),
        ("table", {"schema": "{}"}, "Property 'schema' is not a schema"),
        ("table", {"schema": '"int"'}, "Property 'schema' must be the schema of a record"),
        ("table", {"schema": OLD, "schema.row.field": "x"}, "The row field 'x' of dataset 'd'"),
        ("keyValueTable", {"schema": OLD}, "must have two fields, 'key' and 'value'"),
        ("indexedTable", {}, "columnsToIndex must be specified"),
        ("indexedTable", {"schema": OLD, "columnsToIndex": "id,x"}, "not in its schema: x"),
        ("objectMappedTable", {}, "lacks the property 'object.type'"),
        (
            "objectMappedTable",
            {**OBJECTS, "row.key.explore.name": "PRICE"},
            "Row key PRICE cannot use the same column name as an object field.",
        ),
        (
            "objectMappedTable",
            {**OBJECTS, "row.key.explore.type": "INT"},
            "Invalid type of the row key",
        ),
        (
            "fileSet",
            {"data.external": "true", "data.use.existing": "True"},
            "Only one of 'data.external' and 'data.use.existing' may be set to true",
        ),
        ("fileSet", {"format": "xml"}, "Invalid file format: xml"),
        ("partitionedFileSet", {}, "Properties do not contain partitioning"),
        (
            "partitionedFileSet",
            {"partitioning.fields.": "a"},
            "Type of field 'a' is missing",
        ),
        (
            "partitionedFileSet",
            {"partitioning.fields.": "a", "partitioning.field.a": "DATE"},
            "Type of field 'a' is invalid: 'DATE'",
        ),
        ("cube", {"dataset.cube.resolutions": "1,x"}, "Invalid resolution value x in property"),
        (
            "cube",
            {"dataset.cube.aggregation.a": "x"},
            "Invalid property: dataset.cube.aggregation.a",
        ),
        ("timeseriesTable", {"timeIntervalToStorePerRow": "1_0"}, "must be a whole number"),
    ],
)
def test_invalid_properties(type, properties, message):
    with pytest.raises(DatasetPropertiesError) as error:
        BUILT_IN_TYPES[type].configure("d", properties)

    assert message in error.value.message


def test_properties_without_effect_are_named():
    assert BUILT_IN_TYPES["table"].list_ignored({"dataset.table.ttl": "5"}) == [
        "'dataset.table.ttl' has no effect: rows are kept until they are deleted."
    ]
    assert not BUILT_IN_TYPES["table"].list_ignored({"dataset.table.ttl": "-1"})
