"""Searches in the graphs of columns and datasets, against a naive model and in examples."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import EdgeKind
from localcdap.decoders import decode_msgpack
from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField, Influence
from localcdap.metadata.lineage.field_lineage import FieldLineageInfo
from localcdap.metadata.lineage.relations import AccessType, DatasetId, ProgramId, Relation
from localcdap.metadata.lineage.time_range import TimeRange
from localcdap.metadata.lineage.traversal import FieldGraph
from tests.metadata.lineage.run_ids import make_run
from tests.metadata.lineage.samples import DESTINATION, SOURCE, people

READ, WRITE, UNKNOWN = AccessType.READ, AccessType.WRITE, AccessType.UNKNOWN


def field(text):
    """A field such as ``a.x``; all fields of a dataset are ``a.*``."""
    dataset, name = text.split(".")
    return DatasetField(DatasetId("ns", dataset), None if name == "*" else name)


def edge(source, target, kind=EdgeKind.IDENTITY):
    return ColumnEdge(field(source), field(target), Influence(kind))


def name_of(node):
    return f"{node.dataset.dataset}.{node.field or '*'}"


@pytest.fixture
def put(lineage, store):
    """Store the edges of applications of the namespace ``ns``."""

    def put_edges(**edges):
        with store.transaction() as tx:
            for application, own in edges.items():
                lineage.replace_edges(tx, "ns", application, own)

    return put_edges


def distances(graph):
    return {name_of(node.field): node.distance for node in graph.nodes}


def direct(graph):
    return {name_of(node.field) for node in graph.nodes if node.direct}


@pytest.fixture
def chain(put):
    """Orders are cleaned, then joined with people, then reported; the report is filtered by country."""
    put(
        clean=[
            edge("orders.id", "clean.id"),
            edge("orders.price", "clean.price", EdgeKind.TRANSFORMATION),
        ],
        enrich=[
            edge("clean.price", "sales.price"),
            edge("people.name", "sales.name"),
            edge("clean.id", "sales.*", EdgeKind.JOIN),
            edge("people.id", "sales.*", EdgeKind.JOIN),
        ],
        report=[
            edge("sales.price", "report.total", EdgeKind.AGGREGATION),
            edge("sales.name", "report.*", EdgeKind.GROUP_BY),
        ],
    )


def test_downstream_over_several_pipelines(lineage, chain):
    graph = lineage.trace_fields(field("orders.price"), upstream=False, hops=9)

    assert distances(graph) == {
        "orders.price": 0,
        "clean.price": 1,
        "sales.price": 2,
        "report.total": 3,
    }
    assert [each.application for each in graph.edges] == ["clean", "enrich", "report"]
    assert [each.influence.kind for each in graph.edges] == [
        EdgeKind.TRANSFORMATION,
        EdgeKind.IDENTITY,
        EdgeKind.AGGREGATION,
    ]
    assert not graph.truncated


def test_what_influences_all_fields_of_a_dataset_influences_what_comes_from_them(lineage, chain):
    graph = lineage.trace_fields(field("orders.id"), upstream=False, hops=9)

    assert distances(graph) == {
        "orders.id": 0,
        "clean.id": 1,
        "sales.*": 2,
        "report.total": 3,
        "report.*": 3,
    }
    assert direct(graph) == {"orders.id", "clean.id"}


def test_upstream_of_a_field(lineage, chain):
    graph = lineage.trace_fields(field("report.total"), upstream=True, hops=9)

    assert set(distances(graph)) == {
        "report.total",
        "sales.price",
        "sales.name",
        "clean.price",
        "clean.id",
        "people.id",
        "people.name",
        "orders.price",
        "orders.id",
    }
    assert direct(graph) == {"report.total", "sales.price", "clean.price", "orders.price"}


def test_a_graph_travels_between_processes(lineage, chain):
    graph = lineage.trace_fields(field("report.total"), upstream=True, hops=9)

    assert decode_msgpack(msgspec.msgpack.encode(graph), FieldGraph) == graph


def test_only_direct_edges(lineage, chain):
    graph = lineage.trace_fields(field("report.total"), upstream=True, hops=9, indirect=False)

    assert set(distances(graph)) == {"report.total", "sales.price", "clean.price", "orders.price"}


def test_all_fields_of_a_dataset(lineage, chain):
    graph = lineage.trace_fields(field("clean.*"), upstream=False, hops=1)

    assert distances(graph) == {"clean.*": 0, "sales.price": 1, "sales.*": 1}
    assert direct(graph) == {"clean.*", "sales.price"}
    graph = lineage.trace_fields(field("clean.*"), upstream=True, hops=1)
    assert distances(graph) == {"clean.*": 0, "orders.id": 1, "orders.price": 1}


def test_the_number_of_hops_is_bounded(lineage, chain):
    graph = lineage.trace_fields(field("orders.price"), upstream=False, hops=2)

    assert distances(graph) == {"orders.price": 0, "clean.price": 1, "sales.price": 2}


def test_a_loop_ends(lineage, put):
    put(a=[edge("x.f", "y.f")], b=[edge("y.f", "x.f"), edge("y.f", "y.f")])

    graph = lineage.trace_fields(field("x.f"), upstream=False, hops=100)

    assert distances(graph) == {"x.f": 0, "y.f": 1}
    assert len(graph.edges) == 3


def test_the_number_of_edges_is_bounded_and_says_so(lineage, put):
    put(wide=[edge("in.f", f"out.f{number:02}") for number in range(20)])

    graph = lineage.trace_fields(field("in.f"), upstream=False, hops=2, limit=5)
    assert graph.truncated
    assert len(graph.edges) == 5
    assert len(graph.nodes) == 6
    graph = lineage.trace_fields(field("in.f"), upstream=False, hops=2, limit=20)
    assert not graph.truncated


def test_the_edges_of_an_application_are_replaced(lineage, put, store):
    put(a=[edge("x.f", "y.f")], b=[edge("x.f", "z.f")])
    put(a=[edge("x.f", "y.g"), edge("x.f", "y.g")])

    assert set(distances(lineage.trace_fields(field("x.f"), upstream=False, hops=1))) == {
        "x.f",
        "y.g",
        "z.f",
    }
    put(a=[])
    assert store.read("SELECT count(*) FROM lineage_column_edges") == [(1,)]


def test_a_field_that_nothing_is_known_of_is_alone(lineage):
    graph = lineage.trace_fields(field("x.f"), upstream=True, hops=3)

    assert distances(graph) == {"x.f": 0}
    assert graph.edges == []


@pytest.mark.parametrize(("hops", "limit"), [(0, 1), (1, 0)])
def test_bounds_are_positive(lineage, hops, limit):
    with pytest.raises(BadRequestError, match="should be greater than 0"):
        lineage.trace_fields(field("x.f"), upstream=True, hops=hops, limit=limit)
    with pytest.raises(BadRequestError, match="should be greater than 0"):
        lineage.trace_datasets(DatasetId("ns", "x"), upstream=True, hops=hops, limit=limit)


datasets = st.sampled_from("abcd")
concrete = st.builds("{}.{}".format, datasets, st.sampled_from("xyz"))
anything = st.builds("{}.{}".format, datasets, st.sampled_from("xyz*"))


@st.composite
def any_edges(draw):
    def draw_edge():
        target = draw(anything)
        kinds = [EdgeKind.FILTER, EdgeKind.JOIN]
        if not target.endswith("*"):
            kinds += [EdgeKind.IDENTITY, EdgeKind.AGGREGATION]
        return edge(draw(concrete), target, draw(st.sampled_from(kinds)))

    return [draw_edge() for _ in range(draw(st.integers(0, 14)))]


def meets(edge_end, node):
    """Whether an edge begins or ends at a node, where either may be all fields."""
    same = edge_end.dataset == node.dataset
    return same and (edge_end.field == node.field or None in (edge_end.field, node.field))


def search_naively(edges, start, upstream, hops):
    """The distances of nodes, by looking at every edge for every node in every round."""
    found = {start: 0}
    for hop in range(1, hops + 1):
        for node in [each for each, distance in found.items() if distance == hop - 1]:
            for each in edges:
                near, far = (each.target, each.source) if upstream else (each.source, each.target)
                if meets(near, node):
                    found.setdefault(far, hop)
    return found


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(any_edges(), anything, st.booleans(), st.integers(1, 5), st.integers(0, 3))
def test_a_search_finds_what_a_naive_one_finds(lineage, put, edges, start, upstream, hops, cut):
    put(first=edges[:cut], second=edges[cut:])

    graph = lineage.trace_fields(field(start), upstream=upstream, hops=hops)

    expected = search_naively(edges, field(start), upstream, hops)
    assert {node.field: node.distance for node in graph.nodes} == expected
    only_direct = [
        each
        for each in graph.edges
        if each.influence.kind in (EdgeKind.IDENTITY, EdgeKind.AGGREGATION)
    ]
    reached = search_naively(only_direct, field(start), upstream, len(edges) + 1)
    assert {node.field for node in graph.nodes if node.direct} == set(reached)


def program(name):
    return ProgramId("ns", name, "Workflow", "DataPipelineWorkflow")


@pytest.fixture
def uses(lineage, store):
    """Store the accesses of programs: dataset names by access."""

    def add(name, **accesses):
        run = make_run(1_000)
        with store.transaction() as tx:
            lineage.add_relations(
                tx,
                [
                    Relation(DatasetId("ns", data), program(name), AccessType(access), run)
                    for access, found in accesses.items()
                    for data in found
                ],
            )

    return add


def dataset_distances(graph):
    return {node.data.dataset: node.distance for node in graph.nodes}


def test_the_datasets_around_a_dataset(lineage, uses):
    """a -> p1 -> b -> p2 -> c, and b -> p3 -> d; p2 runs twice."""
    uses("p1", read=["a"], write=["b"])
    for _ in range(2):
        uses("p2", read=["b"], write=["c"])
    uses("p3", read=["b"], write=["d"])

    down = lineage.trace_datasets(DatasetId("ns", "a"), upstream=False, hops=5)
    assert dataset_distances(down) == {"a": 0, "b": 1, "c": 2, "d": 2}
    assert len(down.edges) == 6
    up = lineage.trace_datasets(DatasetId("ns", "c"), upstream=True, hops=5)
    assert dataset_distances(up) == {"c": 0, "b": 1, "a": 2}
    assert {(each.program.application, each.data.dataset, each.access) for each in up.edges} == {
        ("p2", "c", WRITE),
        ("p2", "b", READ),
        ("p1", "b", WRITE),
        ("p1", "a", READ),
    }
    one = lineage.trace_datasets(DatasetId("ns", "c"), upstream=True, hops=1)
    assert dataset_distances(one) == {"c": 0, "b": 1}


accesses = st.sampled_from([READ, WRITE, AccessType.READ_WRITE, UNKNOWN])
programs = st.sampled_from("pqr")


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sets(st.tuples(datasets, programs, accesses), max_size=12), st.booleans(), st.integers(1, 4)
)
def test_a_search_of_datasets_finds_what_a_naive_one_finds(lineage, store, rows, upstream, hops):
    with store.transaction() as tx:
        tx.execute("DELETE FROM lineage_relations")
        relations = [
            Relation(DatasetId("ns", data), program(name), access, make_run(1_000))
            for data, name, access in rows
        ]
        lineage.add_relations(tx, relations)

    graph = lineage.trace_datasets(DatasetId("ns", "a"), upstream=upstream, hops=hops)

    writing, reading = (
        (WRITE, AccessType.READ_WRITE, UNKNOWN),
        (READ, AccessType.READ_WRITE, UNKNOWN),
    )
    near, far = (writing, reading) if upstream else (reading, writing)
    steps = {
        (one, other)
        for one, using, access in rows
        for other, used, other_access in rows
        if using == used and access in near and other_access in far
    }
    expected = {"a": 0}
    for hop in range(1, hops + 1):
        ends = {other for one, other in steps if expected.get(one) == hop - 1}
        expected |= dict.fromkeys(ends - expected.keys(), hop)
    assert dataset_distances(graph) == expected


def test_an_unknown_access_may_go_both_ways(lineage, uses):
    uses("p", unknown=["a", "b"])

    for upstream in (True, False):
        graph = lineage.trace_datasets(DatasetId("ns", "a"), upstream=upstream, hops=3)
        assert dataset_distances(graph) == {"a": 0, "b": 1}


def test_a_loop_of_datasets_ends(lineage, uses):
    uses("p1", read=["a"], write=["b"])
    uses("p2", read=["b"], write=["a"])

    graph = lineage.trace_datasets(DatasetId("ns", "a"), upstream=False, hops=100)

    assert dataset_distances(graph) == {"a": 0, "b": 1}


def test_a_large_graph_of_datasets_is_cut(lineage, uses):
    uses("p", read=["a"], write=[f"out{number}" for number in range(20)])

    graph = lineage.trace_datasets(DatasetId("ns", "a"), upstream=False, hops=3, limit=5)

    assert graph.truncated
    assert len(graph.edges) == 5
    assert dataset_distances(graph)["a"] == 0


def count_rows(store):
    tables = [
        "relations",
        "operations",
        "end_points",
        "destination_fields",
        "field_summaries",
        "column_edges",
    ]
    return {name: store.read(f"SELECT count(*) FROM lineage_{name}")[0][0] for name in tables}


def add_everything(lineage, store, runs, namespace, start=1_000):
    """A run of a program of a namespace that reads and writes datasets of this namespace."""
    run = runs.add(ProgramId(namespace, "app", "Workflow", "w"), start)
    own = DatasetId(namespace, "t")
    operations = people(with_file_name=namespace == "two")
    with store.transaction() as tx:
        lineage.add_relations(tx, [Relation(own, run.program, READ, run.run)])
        lineage.add_operations(tx, run, FieldLineageInfo(operations))
        edges = [ColumnEdge(DatasetField(own, "a"), DatasetField(own, "b"))]
        lineage.replace_edges(tx, namespace, "app", edges)
    return run


def test_the_lineage_of_a_namespace_is_removed_with_it(lineage, store, runs):
    add_everything(lineage, store, runs, "one")
    before = count_rows(store)
    add_everything(lineage, store, runs, "two")

    with store.transaction() as tx:
        lineage.remove_namespace(tx, "two")

    assert count_rows(store) == before
    found = lineage.get_lineage(DatasetId("one", "t"), TimeRange())
    assert len(found.relations) == 1


@pytest.mark.parametrize("namespace", [SOURCE.namespace, DESTINATION.namespace])
def test_the_lineage_of_the_datasets_of_a_namespace_is_removed_too(lineage, store, runs, namespace):
    add_everything(lineage, store, runs, "one")

    with store.transaction() as tx:
        lineage.remove_namespace(tx, namespace)

    assert store.read(
        "SELECT count(*) FROM lineage_end_points WHERE namespace = ?", (namespace,)
    ) == [(0,)]


@pytest.mark.parametrize("namespace", ["one", "two"])
def test_what_leads_into_a_removed_namespace_is_removed(lineage, store, runs, namespace):
    """A program of one namespace reads a dataset of another one."""
    run = runs.add(ProgramId("one", "app", "Workflow", "w"), 1_000)
    before, after = (
        DatasetField(DatasetId("two", "t"), "a"),
        DatasetField(DatasetId("one", "t"), "a"),
    )
    with store.transaction() as tx:
        lineage.add_relations(tx, [Relation(before.dataset, run.program, READ, run.run)])
        lineage.replace_edges(tx, "three", "app", [ColumnEdge(before, after)])

    with store.transaction() as tx:
        lineage.remove_namespace(tx, namespace)

    assert set(count_rows(store).values()) == {0}


def test_lineage_is_removed_and_written_again_in_one_transaction(lineage, store, runs):
    run = add_everything(lineage, store, runs, "one")
    before = count_rows(store)

    with store.transaction() as tx:
        lineage.remove_namespace(tx, "one")
        lineage.add_operations(tx, run, FieldLineageInfo(people()))

    assert count_rows(store) == before | {"relations": 0, "column_edges": 0}


def test_old_lineage_is_removed_on_request(lineage, store, runs):
    add_everything(lineage, store, runs, "two", start=1_000)
    add_everything(lineage, store, runs, "one", start=2_000)

    with store.transaction() as tx:
        lineage.remove_before(tx, 2_000)

    assert count_rows(store) == {
        "relations": 1,
        "operations": 1,
        "end_points": 2,
        "destination_fields": 2,
        "field_summaries": 2,
        "column_edges": 2,
    }
