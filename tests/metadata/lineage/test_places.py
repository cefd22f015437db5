"""Datasets with several names: what is written under one name and read under another is one dataset."""

from __future__ import annotations

import pytest

from localcdap.api.lineage import EdgeKind
from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField, Influence
from localcdap.metadata.lineage.field_lineage import Direction
from localcdap.metadata.lineage.relations import (
    AccessType,
    DatasetId,
    DatasetPlace,
    PlaceRecords,
    ProgramId,
    Relation,
)
from localcdap.metadata.lineage.time_range import TimeRange

TABLE = "table ns.shop.orders"
ALWAYS = TimeRange(0, 2**62)


def dataset(name):
    return DatasetId("ns", name)


def field(text):
    name, _, column = text.partition(".")
    return DatasetField(dataset(name), None if column == "*" else column)


def edge(source, target, kind=EdgeKind.IDENTITY):
    return ColumnEdge(field(source), field(target), Influence(kind))


def name(node):
    return f"{node.dataset.dataset}.{node.field or '*'}"


@pytest.fixture
def chain(lineage, store, runs):
    """``load`` writes a table as ``sales_out``, ``report`` reads it as ``sales_in``."""
    own = {
        "load": ([edge("raw.id", "sales_out.id"), edge("raw.ok", "sales_out.*", EdgeKind.FILTER)]),
        "report": [edge("sales_in.id", "counts.many", EdgeKind.AGGREGATION)],
    }
    places = {
        "load": [DatasetPlace(dataset("sales_out"), TABLE)],
        "report": [DatasetPlace(dataset("sales_in"), TABLE)],
    }
    uses = {"load": ("raw", "sales_out"), "report": ("sales_in", "counts")}
    with store.transaction() as tx:
        for number, (application, edges) in enumerate(own.items(), 1):
            lineage.replace_edges(tx, "ns", application, edges, places[application])
            program = ProgramId("ns", application, "Workflow", "w")
            run = runs.add(program, number * 1000).run
            source, sink = uses[application]
            lineage.add_relations(
                tx,
                [
                    Relation(dataset(source), program, AccessType.READ, run),
                    Relation(dataset(sink), program, AccessType.WRITE, run),
                ],
            )


def test_fields_are_traced_from_one_name_to_the_other(lineage, chain):
    graph = lineage.trace_fields(field("counts.many"), upstream=True, hops=5)
    assert {name(node.field): node.distance for node in graph.nodes} == {
        "counts.many": 0,
        "sales_in.id": 1,
        "sales_out.id": 1,
        "raw.id": 2,
        "raw.ok": 2,
    }
    assert [tuple(map(name, pair)) for pair in graph.same] == [("sales_out.id", "sales_in.id")]
    assert {name(node.field) for node in graph.nodes if node.direct} == {
        "counts.many",
        "sales_in.id",
        "sales_out.id",
        "raw.id",
    }
    graph = lineage.trace_fields(field("raw.id"), upstream=False, hops=5)
    assert [name(node.field) for node in graph.nodes] == [
        "raw.id",
        "sales_out.id",
        "sales_in.id",
        "counts.many",
    ]
    # What decides about all fields decides about all fields under the other name.
    graph = lineage.trace_fields(field("raw.ok"), upstream=False, hops=5)
    assert "counts.many" in [name(node.field) for node in graph.nodes]


def test_datasets_are_traced_from_one_name_to_the_other(lineage, chain):
    graph = lineage.trace_datasets(dataset("counts"), upstream=True, hops=5)
    assert {node.data.dataset: node.distance for node in graph.nodes} == {
        "counts": 0,
        "sales_in": 1,
        "sales_out": 1,
        "raw": 2,
    }
    assert graph.same == [(dataset("sales_out"), dataset("sales_in"))]
    near = lineage.trace_datasets(dataset("raw"), upstream=False, hops=1)
    assert [node.data.dataset for node in near.nodes] == ["raw", "sales_out"]
    assert near.same == []


def test_relations_of_both_names_are_answered(lineage, chain):
    def find(start, direction):
        found = lineage.get_lineage(dataset(start), ALWAYS, 5, direction=direction)
        return {(each.data.dataset, each.program.application) for each in found.groups}

    whole = {
        ("raw", "load"),
        ("sales_out", "load"),
        ("sales_in", "report"),
        ("counts", "report"),
    }
    assert find("raw", Direction.BOTH) == find("counts", Direction.BOTH) == whole
    assert find("counts", Direction.INCOMING) == find("sales_out", Direction.BOTH) == whole
    assert find("sales_in", Direction.INCOMING) == {("raw", "load"), ("sales_out", "load")}


def test_the_table_itself_is_one_of_the_names(lineage, store, chain):
    table = dataset("shop.orders")
    graph = lineage.trace_fields(DatasetField(table, "id"), upstream=True, hops=1)
    assert [name(node.field) for node in graph.nodes] == [
        "shop.orders.id",
        "sales_out.id",
        "raw.id",
        "raw.ok",
    ]
    with store.snapshot() as tx:
        same = PlaceRecords(tx).find_same([table, dataset("sales_in"), dataset("raw")])
    assert same == {
        table: [dataset("sales_in"), dataset("sales_out")],
        dataset("sales_in"): [dataset("sales_out"), table],
    }


def test_places_are_replaced_and_removed_with_their_owner(lineage, store, chain):
    with store.transaction() as tx:
        lineage.replace_edges(tx, "ns", "report", [], [])
        assert PlaceRecords(tx).list_places("ns", "report") == []
        kept = PlaceRecords(tx).list_places("ns", "load")
        assert kept == [DatasetPlace(dataset("sales_out"), TABLE)]
        lineage.remove_namespace(tx, "ns")
        assert PlaceRecords(tx).list_places("ns", "load") == []
