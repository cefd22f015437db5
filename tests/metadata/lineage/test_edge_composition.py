"""Edges between datasets that follow from the edges of the stages of a pipeline."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import EdgeKind, EdgeType
from localcdap.api.pipeline import StageConnection
from localcdap.decoders import decode_json
from localcdap.metadata.lineage.column_edges import (
    ColumnEdge,
    DatasetField,
    Influence,
    read_operation_edges,
)
from localcdap.metadata.lineage.field_lineage import FieldLineageInfo
from localcdap.metadata.lineage.pipeline_lineage import (
    DatasetWrite,
    StageEdge,
    StageEdges,
    compose_edges,
    connect_fields,
)
from localcdap.metadata.lineage.pipeline_operations import PlatformTransform
from localcdap.metadata.lineage.relations import DatasetId
from tests.metadata.lineage.samples import end as end_point
from tests.metadata.lineage.samples import inputs, people, read, write

ORDERS, PEOPLE, OUT = (DatasetId("ns", name) for name in ("orders", "people", "out"))
DIRECT = [EdgeKind.IDENTITY, EdgeKind.TRANSFORMATION, EdgeKind.AGGREGATION]
INDIRECT = [kind for kind in EdgeKind if kind not in DIRECT]


def connect(*pairs):
    return [StageConnection(*pair.split("-")) for pair in pairs]


def source(stage, dataset, *fields):
    return StageEdges(stage, connect_fields(dataset, fields))


def sink(stage, before, *fields):
    return StageEdges(stage, connect_fields(before, fields), [DatasetWrite(OUT, fields)])


def edge(before, taken, made, kind=EdgeKind.IDENTITY, **flags):
    return StageEdge(before, taken, made, Influence(kind, **flags))


def column(taken, made, kind=EdgeKind.IDENTITY, dataset=ORDERS, **flags):
    return ColumnEdge(
        DatasetField(dataset, taken), DatasetField(OUT, made), Influence(kind, **flags)
    )


def compose(stages, *connections):
    found = compose_edges(stages, connect(*connections))
    assert len(set(found)) == len(found)
    return set(found)


def test_a_chain_has_the_strongest_kind_of_its_edges():
    found = compose(
        [
            source("in", ORDERS, "id", "price", "item"),
            StageEdges(
                "t",
                [
                    edge("in", "id", "id"),
                    edge("in", "price", "price", EdgeKind.TRANSFORMATION),
                ],
            ),
            StageEdges(
                "g",
                [edge("t", "id", "key"), edge("t", "price", "sum", EdgeKind.AGGREGATION)],
            ),
            sink("out", "g", "key", "sum"),
        ],
        "in-t",
        "t-g",
        "g-out",
    )

    assert found == {column("id", "key"), column("price", "sum", EdgeKind.AGGREGATION)}


def test_a_filter_influences_all_fields_after_it():
    found = compose(
        [
            source("in", ORDERS, "id", "country"),
            StageEdges(
                "f",
                [edge("in", "id", "id"), edge("in", "country", None, EdgeKind.FILTER)],
            ),
            sink("out", "f", "id"),
        ],
        "in-f",
        "f-out",
    )

    assert found == {column("id", "id"), column("country", None, EdgeKind.FILTER)}


def test_a_join_and_a_group():
    found = compose(
        [
            source("orders", ORDERS, "customer", "price"),
            source("people", PEOPLE, "id", "name"),
            StageEdges(
                "join",
                [
                    edge("orders", "price", "price"),
                    edge("people", "name", "name"),
                    edge("orders", "customer", None, EdgeKind.JOIN),
                    edge("people", "id", None, EdgeKind.JOIN),
                ],
            ),
            StageEdges(
                "group",
                [
                    edge("join", "name", "name"),
                    edge("join", "price", "total", EdgeKind.AGGREGATION),
                    edge("join", "name", None, EdgeKind.GROUP_BY),
                ],
            ),
            sink("out", "group", "name", "total"),
        ],
        "orders-join",
        "people-join",
        "join-group",
        "group-out",
    )

    assert found == {
        column("name", "name", dataset=PEOPLE),
        column("price", "total", EdgeKind.AGGREGATION),
        column("customer", None, EdgeKind.JOIN),
        column("id", None, EdgeKind.JOIN, PEOPLE),
        column("name", None, EdgeKind.GROUP_BY, PEOPLE),
    }


def test_direct_and_indirect_ways_between_two_fields_are_two_edges():
    found = compose(
        [
            source("in", ORDERS, "a"),
            StageEdges("t", [edge("in", "a", "b"), edge("in", "a", "b", EdgeKind.CONDITIONAL)]),
            sink("out", "t", "b"),
        ],
        "in-t",
        "t-out",
    )

    assert found == {column("a", "b"), column("a", "b", EdgeKind.CONDITIONAL)}


def test_a_lookup_reads_a_dataset_in_the_middle():
    found = compose(
        [
            source("in", ORDERS, "customer"),
            StageEdges(
                "lookup",
                [
                    edge(PEOPLE, "name", "name"),
                    edge("in", "customer", "name", EdgeKind.CONDITIONAL),
                ],
            ),
            sink("out", "lookup", "name"),
        ],
        "in-lookup",
        "lookup-out",
    )

    assert found == {
        column("name", "name", dataset=PEOPLE),
        column("customer", "name", EdgeKind.CONDITIONAL),
    }


def test_nothing_is_known_of_a_script():
    """Any field may decide whether a record is emitted, which a count after it shows."""
    value = Influence(EdgeKind.TRANSFORMATION, assumed=True)
    records = [StageEdge("in", a, None, Influence(EdgeKind.FILTER, assumed=True)) for a in "ab"]
    values = [StageEdge("in", a, made, value) for made in "xy" for a in "ab"]
    found = compose(
        [
            source("in", ORDERS, "a", "b"),
            StageEdges("script", [*values, *records]),
            StageEdges("count", [edge("script", "x", "x")]),
            sink("out", "count", "x", "count"),
        ],
        "in-script",
        "script-count",
        "count-out",
    )

    assert found == {
        column("a", "x", EdgeKind.TRANSFORMATION, assumed=True),
        column("b", "x", EdgeKind.TRANSFORMATION, assumed=True),
        column("a", None, EdgeKind.FILTER, assumed=True),
        column("b", None, EdgeKind.FILTER, assumed=True),
    }


def test_what_is_dropped_or_comes_from_nowhere_has_no_edge():
    found = compose(
        [
            source("in", ORDERS, "a", "b"),
            StageEdges(
                "t", [edge("in", "a", "a"), edge("in", "missing", "c"), edge("x", "a", "d")]
            ),
            sink("out", "t", "a", "b", "c", "d"),
        ],
        "in-t",
        "t-out",
        "t-nowhere",
    )

    assert found == {column("a", "a")}


def test_masking_anywhere_masks():
    found = compose(
        [
            source("in", ORDERS, "a"),
            StageEdges("hash", [edge("in", "a", "a", EdgeKind.TRANSFORMATION, masking=True)]),
            sink("out", "hash", "a"),
        ],
        "in-hash",
        "hash-out",
    )

    assert found == {column("a", "a", EdgeKind.TRANSFORMATION, masking=True)}


def test_edges_travel_between_processes():
    stage = StageEdges(
        "out",
        [edge("in", "a", None, EdgeKind.SORT), edge(PEOPLE, "id", "id", assumed=True)],
        [DatasetWrite(OUT, ["id"])],
    )
    column_edge = column("a", "b", EdgeKind.AGGREGATION, masking=True)

    assert decode_json(msgspec.json.encode(stage), StageEdges) == stage
    assert decode_json(msgspec.json.encode(column_edge), ColumnEdge) == column_edge


def test_a_cycle_is_refused():
    stages = [sink("a", "b", "x"), sink("b", "a", "x")]

    with pytest.raises(BadRequestError, match="form a cycle"):
        compose_edges(stages, connect("a-b", "b-a"))


@pytest.mark.parametrize("kind", DIRECT)
def test_a_direct_edge_leads_to_one_field(kind):
    with pytest.raises(BadRequestError, match="only indirect edges lead to all fields"):
        edge("in", "a", None, kind)
    with pytest.raises(BadRequestError, match="only indirect edges lead to all fields"):
        column("a", None, kind)


def test_an_edge_begins_at_one_field():
    with pytest.raises(BadRequestError, match="names no source field"):
        column(None, "a")


def test_kinds_have_the_types_of_open_lineage():
    assert [kind.type for kind in DIRECT] == [EdgeType.DIRECT] * 3
    assert {kind.value for kind in INDIRECT} == {
        "JOIN",
        "GROUP_BY",
        "FILTER",
        "SORT",
        "WINDOW",
        "CONDITIONAL",
    }
    assert {kind.type for kind in INDIRECT} == {EdgeType.INDIRECT}


influences = st.builds(Influence, st.sampled_from(EdgeKind), st.booleans(), st.booleans())


@given(influences, influences, influences)
def test_it_does_not_matter_where_a_path_is_cut(a, b, c):
    assert a.extend(b).extend(c) == a.extend(b.extend(c))


@given(influences, influences)
def test_a_path_is_direct_when_all_of_its_edges_are(a, b):
    both = a.extend(b)

    assert (both.kind in DIRECT) == (a.kind in DIRECT and b.kind in DIRECT)
    assert both.extend(Influence()) == Influence().extend(both) == both


@st.composite
def pipelines(draw):
    """Stages s0, s1 … that take fields of stages before them or of a dataset, and write."""
    names = st.sampled_from("xy")
    stages, connections = [], []
    for number in range(draw(st.integers(1, 5))):
        before = draw(st.sets(st.integers(0, number - 1), max_size=2)) if number else set()
        connections += [f"s{each}-s{number}" for each in sorted(before)]
        sources = st.sampled_from([ORDERS, PEOPLE, *(f"s{each}" for each in sorted(before))])
        edges = []
        for _ in range(draw(st.integers(0, 4))):
            to = draw(st.sampled_from(["x", "y", None]))
            kinds = st.sampled_from(INDIRECT if to is None else list(EdgeKind))
            influence = Influence(draw(kinds), draw(st.booleans()))
            edges.append(StageEdge(draw(sources), draw(names), to, influence))
        writes = [DatasetWrite(OUT, ["x", "y"])] if draw(st.booleans()) else []
        stages.append(StageEdges(f"s{number}", edges, writes))
    return draw(st.permutations(stages)), connections


def follow(stages, inputs, stage, field):
    """All ways from fields of datasets to a field, or to all fields, of a stage, path by path."""
    for each in stages[stage].edges:
        if each.field != field:
            continue
        if isinstance(each.source, DatasetId):
            yield DatasetField(each.source, each.source_field), [each.influence]
        elif each.source in inputs[stage]:
            for origin, way in follow(stages, inputs, each.source, each.source_field):
                yield origin, [*way, each.influence]
    if field is None:
        for before in inputs[stage]:
            yield from follow(stages, inputs, before, None)


@given(pipelines())
def test_composition_finds_what_following_each_path_finds(pipeline):
    given_stages, connections = pipeline
    stages = {stage.stage: stage for stage in given_stages}
    inputs = {name: [] for name in stages}
    for each in connect(*connections):
        inputs[each.target].append(each.source)

    expected = set()
    for stage in given_stages:
        for target in ("x", "y", None) if stage.writes else ():
            for origin, (first, *others) in follow(stages, inputs, stage.stage, target):
                for influence in others:
                    first = first.extend(influence)
                expected.add(ColumnEdge(origin, DatasetField(OUT, target), first))
    assert compose(given_stages, *connections) == expected


def test_recorded_operations_stand_for_edges():
    found = read_operation_edges(FieldLineageInfo(people()))

    before, after = DatasetId("ns1", "endpoint1"), DatasetId("myns", "another_file")
    assert set(found) == {
        ColumnEdge(DatasetField(before, "offset"), DatasetField(after, "offset")),
        ColumnEdge(
            DatasetField(before, "body"),
            DatasetField(after, "name"),
            Influence(EdgeKind.TRANSFORMATION),
        ),
    }


def test_edges_of_assumed_operations_are_assumed():
    assumed = PlatformTransform("t", "", inputs("read.a"), ("b",), assumed=True)
    operations = [
        read("read", end_point("orders", "ns"), "a", "c"),
        assumed,
        write("write", end_point("out", "ns"), "t.b", "read.c"),
    ]

    assert set(read_operation_edges(FieldLineageInfo(operations))) == {
        column("a", "b", EdgeKind.TRANSFORMATION, assumed=True),
        column("c", "c"),
    }
