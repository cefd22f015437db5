"""Stored field lineage: CDAP's FieldLineageDatasetTest and FieldLineageAdminTest by name."""

from __future__ import annotations

import json

import msgspec
import pytest

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import EndPoint
from localcdap.metadata.lineage.field_lineage import (
    DatasetFields,
    Direction,
    FieldLineageInfo,
    FieldLineageRelations,
    FieldRelation,
    LineageField,
    parse_direction,
)
from localcdap.metadata.lineage.field_records import INCOMING, OUTGOING, FieldRecords
from localcdap.metadata.lineage.pipeline_operations import PlatformTransform
from localcdap.metadata.lineage.relations import DatasetId, ProgramId, ProgramRunId
from localcdap.metadata.lineage.time_range import TimeRange
from tests.metadata.lineage.run_ids import make_run
from tests.metadata.lineage.samples import (
    DESTINATION,
    SOURCE,
    end,
    field,
    inputs,
    people,
    read,
    transform,
    write,
)

WORKFLOW = ProgramId("default", "app1", "Workflow", "workflow1")
OTHER = ProgramId("default", "app1", "Workflow", "workflow3")
SOURCE_ID, DESTINATION_ID = DatasetId("ns1", "endpoint1"), DatasetId("myns", "another_file")


def until(end_ms, start=0):
    return TimeRange(start, end_ms)


@pytest.fixture
def add(lineage, store):
    """Store the operations of a run of a program at a time; returns the run."""

    def add_operations(operations, milliseconds=10_000, program=WORKFLOW):
        run = ProgramRunId(program, make_run(milliseconds))
        info = FieldLineageInfo(operations, program.namespace)
        with store.transaction() as tx:
            lineage.add_operations(tx, run, info)
        return run

    return add_operations


@pytest.fixture
def three_runs(add):
    """Two different lineages; the second one of two programs."""
    return (
        add(people(), 10_000),
        add(people(with_file_name=True), 11_000),
        add(people(with_file_name=True), 12_000, OTHER),
    )


@pytest.fixture
def records(store):
    with store.snapshot() as tx:
        yield FieldRecords(tx)


def names(fields):
    return [each.name for each in fields]


def test_simple_operations_fields(lineage, three_runs):
    """The start of a range belongs to it, its end does not."""
    expected = ["name", "offset"]

    assert lineage.list_fields(DESTINATION_ID, until(10_000)) == []
    assert names(lineage.list_fields(DESTINATION_ID, until(10_001))) == expected
    assert names(lineage.list_fields(DESTINATION_ID, until(11_000, 10_000))) == expected
    found = lineage.list_fields(DESTINATION_ID, until(11_001, 10_000))
    assert names(found) == ["file_name", *expected]


def test_simple_operations_summaries(three_runs, records):
    def incoming(name, times):
        return records.find_summaries(INCOMING, DESTINATION, times, name).get(name)

    def outgoing(name, times):
        return records.find_summaries(OUTGOING, SOURCE, times, name).get(name)

    assert incoming("offset", until(10_000)) is None
    assert incoming("offset", until(10_001)) == {field(SOURCE, "offset")}
    assert incoming("name", until(10_001)) == {field(SOURCE, "body")}
    assert incoming("file_name", until(10_001)) is None
    assert outgoing("offset", until(10_000)) is None
    assert outgoing("offset", until(10_001)) == {field(DESTINATION, "offset")}
    assert outgoing("body", until(10_001)) == {field(DESTINATION, "name")}
    assert outgoing("file_name", until(11_000)) is None
    assert outgoing("file_name", until(11_001)) == {field(DESTINATION, "file_name")}


def test_simple_operations(three_runs, records):
    """Two runs with equal operations are one way."""
    first, second, third = three_runs

    def ways(direction, end_point, times):
        found = records.find_operations(direction, end_point, times)
        return {(each.runs, each.info) for each in found}

    incoming = ways(INCOMING, DESTINATION, until(10_001))
    assert incoming == ways(OUTGOING, SOURCE, until(10_001))
    assert [each for each, _ in incoming] == [frozenset([first])]
    both = ways(INCOMING, DESTINATION, until(12_001, 10_000))
    assert both == ways(OUTGOING, SOURCE, until(12_001, 10_000))
    assert {each for each, _ in both} == {frozenset([first]), frozenset([second, third])}


def test_merge_summaries(add, lineage):
    one = [read("read", SOURCE, "offset", "body"), write("write", end("e3", "ns"), "read.body")]
    another = end("endpoint2", "ns1")
    more = [
        read("anotherRead", another, "offset", "body"),
        write("anotherWrite", end("e3", "ns"), "anotherRead.body"),
    ]
    add(one, 10_000)
    add(one + more, 11_000)

    found = lineage.get_field_lineage(DatasetId("ns", "e3"), "body", Direction.INCOMING)

    assert found.incoming == [
        DatasetFields(SOURCE_ID, ["body"]),
        DatasetFields(DatasetId("ns1", "endpoint2"), ["body"]),
    ]


@pytest.fixture
def customers(add):
    """A dataset with five fields; two begin with add."""
    fields = ("name", "address", "address_original", "offset", "body")
    add(
        [read("read", SOURCE, *fields), write("write", DESTINATION, *(f"read.{f}" for f in fields))]
    )
    return sorted(fields)


def test_fields(lineage, customers):
    assert lineage.list_fields(DESTINATION_ID) == [LineageField(name, True) for name in customers]
    found = lineage.list_fields(DESTINATION_ID, prefix="add")
    assert names(found) == ["address", "address_original"]
    assert lineage.list_fields(DatasetId("myns", "unknown")) == []


def test_fields_with_ds_schema(lineage, customers, schemas):
    found = lineage.list_fields(DESTINATION_ID, include_current=True)
    assert names(found) == customers

    schemas[DESTINATION_ID] = ["name", "address", "addiffField1", "diffField2"]
    assert names(lineage.list_fields(DESTINATION_ID)) == customers
    found = lineage.list_fields(DESTINATION_ID, include_current=True)
    assert {each.name for each in found if each.lineage} == set(customers)
    assert {each.name for each in found if not each.lineage} == {"addiffField1", "diffField2"}
    assert names(lineage.list_fields(DESTINATION_ID, prefix="add")) == [
        "address",
        "address_original",
    ]
    for prefix in ("add", "ADD"):
        assert lineage.list_fields(DESTINATION_ID, prefix=prefix, include_current=True) == [
            LineageField("addiffField1", False),
            LineageField("address", True),
            LineageField("address_original", True),
        ]


def test_the_fields_of_a_source_are_those_that_were_used(lineage, add):
    add([*people()[:2], read("read", SOURCE, "offset", "body", "unused"), people()[3]])

    assert names(lineage.list_fields(SOURCE_ID)) == ["body", "offset"]


def test_summary(lineage, add):
    target = end("file", "ns")
    add(
        [
            read("one", target, "a", "b", "c"),
            read("two", end("anotherfile", "ns"), "x", "y", "z"),
            transform("mix", ["one.a", "one.b", "one.c", "two.x", "two.y", "two.z"], "somefield"),
            write("write", target, "mix.somefield"),
        ]
    )
    dataset = DatasetId("ns", "file")
    expected = [
        DatasetFields(DatasetId("ns", "anotherfile"), ["x", "y", "z"]),
        DatasetFields(dataset, ["a", "b", "c"]),
    ]

    incoming = lineage.get_field_lineage(dataset, "somefield", Direction.INCOMING)
    assert incoming.incoming == expected
    assert incoming.outgoing is None
    outgoing = lineage.get_field_lineage(dataset, "a", Direction.OUTGOING)
    assert outgoing.incoming is None
    assert outgoing.outgoing == [DatasetFields(dataset, ["somefield"])]
    both = lineage.get_field_lineage(dataset, "somefield", Direction.BOTH)
    assert json.loads(msgspec.json.encode(both)) == {
        "incoming": [
            {
                "dataset": {
                    "entity": "DATASET",
                    "namespace": "ns",
                    "dataset": each.dataset.dataset,
                },
                "fields": each.fields,
            }
            for each in expected
        ],
        "outgoing": [],
    }


INCOMINGS = {
    "field1": ["src1.src1f1", "src1.src1f2", "src2.src2f1"],
    "field2": ["src2.src2f2", "src3.src3f1"],
    "field3": ["src3.src3f2"],
}
OUTGOINGS = {
    "dest1": {"dest1f1": "field1", "dest1f2": "field2"},
    "dest2": {"dest2f1": "field1", "dest2f2": "field3"},
}


@pytest.fixture
def incoming_and_outgoing(add):
    """A dataset with three fields that come from three datasets and go to two."""
    own = end("ds1", "ns1")
    sources = {each.split(".")[0] for taken in INCOMINGS.values() for each in taken}
    add(
        [
            *(
                read(name, end(name, "ns1"), *(f"{name}f{number}" for number in (1, 2, 3)))
                for name in sorted(sources)
            ),
            *(transform(name, taken, name) for name, taken in INCOMINGS.items()),
            write("write", own, *(f"{name}.{name}" for name in INCOMINGS)),
        ]
    )
    add(
        [
            read("read", own, "field1", "field2", "field3"),
            *(
                transform(made, [f"read.{taken}"], made)
                for fields in OUTGOINGS.values()
                for made, taken in fields.items()
            ),
            transform("more", ["read.field2"], "dest2f1"),
            *(
                write(name, end(name, "ns1"), *(f"{made}.{made}" for made in fields))
                for name, fields in OUTGOINGS.items()
            ),
            write("again", end("dest2", "ns1"), "more.dest2f1"),
        ]
    )
    return DatasetId("ns1", "ds1")


def test_dataset_field_lineage_summary(lineage, incoming_and_outgoing, schemas):
    dataset = incoming_and_outgoing
    schemas[dataset] = ["field1", "field9"]

    found = lineage.get_dataset_field_lineage(dataset, Direction.BOTH)

    def related(name, count, *pairs):
        relations = [FieldRelation(source, destination) for source, destination in pairs]
        return FieldLineageRelations(DatasetId("ns1", name), count, sorted(relations))

    assert found.fields == ["field1", "field2", "field3", "field9"]
    assert found.incoming == [
        related("src1", 2, ("src1f1", "field1"), ("src1f2", "field1")),
        related("src2", 2, ("src2f1", "field1"), ("src2f2", "field2")),
        related("src3", 2, ("src3f1", "field2"), ("src3f2", "field3")),
    ]
    assert found.outgoing == [
        related("dest1", 2, ("field1", "dest1f1"), ("field2", "dest1f2")),
        related("dest2", 2, ("field1", "dest2f1"), ("field2", "dest2f1"), ("field3", "dest2f2")),
    ]
    answer = json.loads(
        msgspec.json.encode(
            lineage.get_dataset_field_lineage(dataset, Direction.INCOMING, until(5))
        )
    )
    assert answer == {
        "direction": "INCOMING",
        "start-ts": 0,
        "end-ts": 5,
        "entityId": {"entity": "DATASET", "namespace": "ns1", "dataset": "ds1"},
        "fields": ["field1", "field9"],
        "incoming": [],
        "outgoing": [],
    }


def test_operations(lineage, add):
    """Each way with the latest run of each program, the latest first, and operations in their order."""
    source, target = end("file", "ns"), end("anotherfile", "ns")
    spark = ProgramId("ns", "app", "Spark", "sparkprogram")
    mapreduce = ProgramId("ns", "app", "MapReduce", "mrprogram")
    reading = read("read", source, "offset", "body")
    parse = transform("parse", ["read.body"], "name")
    plain = [write("write", target, "read.offset", "parse.name"), parse, reading]
    normal = [
        write("write", target, "normalize.offset", "parse.name"),
        transform("normalize", ["read.offset"], "offset"),
        parse,
        reading,
    ]
    for milliseconds in (1_000, 2_000):
        add(plain, milliseconds, spark)
    for milliseconds in (3_000, 5_000):
        add(normal, milliseconds, spark)
    for milliseconds in (4_000, 6_000):
        add(normal, milliseconds, mapreduce)

    dataset = DatasetId("ns", "anotherfile")
    details = lineage.get_field_operations(dataset, "offset", Direction.INCOMING)

    assert details.outgoing is None
    latest, earlier = details.incoming
    assert [(each.program, each.last_executed_time_in_seconds) for each in latest.programs] == [
        (mapreduce, 6),
        (spark, 5),
    ]
    assert names(latest.operations) == ["read", "normalize", "write"]
    assert [each.last_executed_time_in_seconds for each in earlier.programs] == [2]
    assert json.loads(msgspec.json.encode(earlier.operations)) == [
        {
            "name": "read",
            "description": "",
            "inputs": {"endPoint": {"name": "file", "namespace": "ns"}},
            "outputs": {"fields": ["offset", "body"]},
        },
        {
            "name": "write",
            "description": "",
            "inputs": {
                "fields": [
                    {"origin": "read", "name": "offset"},
                    {"origin": "parse", "name": "name"},
                ]
            },
            "outputs": {"endPoint": {"name": "anotherfile", "namespace": "ns"}},
        },
    ]
    outgoing = lineage.get_field_operations(DatasetId("ns", "file"), "body", Direction.OUTGOING)
    assert [names(each.operations) for each in outgoing.outgoing] == [
        ["read", "parse", "write"]
    ] * 2


def test_an_assumed_operation_says_so(lineage, add):
    assumed = PlatformTransform("t", "", inputs("read.a"), ("b",), assumed=True)
    add([read("read", SOURCE, "a"), assumed, write("write", DESTINATION, "t.b")])

    (way,) = lineage.get_field_operations(DESTINATION_ID, "b", Direction.INCOMING).incoming

    assert [each.assumed for each in way.operations] == [False, True, False]


def test_a_drop_is_an_outgoing_relation_without_a_target(add, records, lineage, store):
    add([read("read", SOURCE, "a"), transform("drop", ["read.a"]), write("write", DESTINATION)])

    with store.snapshot() as tx:
        found = FieldRecords(tx).find_summaries(OUTGOING, SOURCE, TimeRange())
    assert found == {"a": {None}}
    assert lineage.get_field_lineage(SOURCE_ID, "a", Direction.OUTGOING).outgoing == []


def test_end_points_get_the_namespace_of_the_program(add, lineage):
    operations = [read("read", EndPoint("in"), "a"), write("write", EndPoint("out"), "read.a")]
    add(operations, program=ProgramId("one", "app", "Workflow", "w"))
    add(operations, program=ProgramId("two", "app", "Workflow", "w"))

    for namespace in ("one", "two"):
        found = lineage.get_field_lineage(DatasetId(namespace, "out"), "a", Direction.INCOMING)
        assert found.incoming == [DatasetFields(DatasetId(namespace, "in"), ["a"])]


def test_the_lineage_of_a_run_is_stored_once(lineage, store):
    run = ProgramRunId(WORKFLOW, make_run(1_000))
    for _ in range(2):
        with store.transaction() as tx:
            lineage.add_operations(tx, run, FieldLineageInfo(people()))

    assert store.read("SELECT count(*) FROM lineage_end_points") == [(2,)]
    assert store.read("SELECT count(*) FROM lineage_operations") == [(1,)]


def test_a_renamed_dataset_is_another_one(lineage, add):
    for milliseconds, name in ((1_000, "old"), (2_000, "new")):
        out = write("write", end(name, "ns"), f"read.{name}")
        add([read("read", SOURCE, "old", "new"), out], milliseconds)

    assert names(lineage.list_fields(DatasetId("ns", "old"))) == ["old"]
    assert names(lineage.list_fields(DatasetId("ns", "new"))) == ["new"]
    assert lineage.list_fields(DatasetId("ns", "old"), until(3_000, 2_000)) == []
    found = lineage.get_dataset_field_lineage(SOURCE_ID, Direction.OUTGOING, until(2_000))
    assert [(each.entity_id.dataset, each.field_count) for each in found.outgoing] == [("old", 1)]


def test_end_points_without_a_namespace_are_not_stored(lineage, store):
    operations = [read("read", EndPoint("in"), "a"), write("write", EndPoint("out"), "read.a")]
    info = FieldLineageInfo(operations)
    run = ProgramRunId(WORKFLOW, make_run(1_000))

    with store.transaction() as tx, pytest.raises(BadRequestError, match=": in, out.$"):
        lineage.add_operations(tx, run, info)

    assert store.read("SELECT count(*) FROM lineage_operations") == [(0,)]


@pytest.mark.parametrize("word", [None, "", "up"])
def test_a_direction_is_required(word):
    with pytest.raises(BadRequestError) as raised:
        parse_direction(word)

    assert str(raised.value) == (
        "Direction must be specified to get the field lineage summary and should be one of the "
        "following: [incoming, outgoing, both]."
    )


def test_directions_are_read_in_any_case():
    assert [parse_direction(word) for word in ("INCOMING", "outgoing", "Both")] == list(Direction)
