"""The graph of the lineage area without a screen: merging, drawing, Mermaid, impact."""

from __future__ import annotations

import pytest

from localcdap.api.lineage import EdgeKind
from localcdap.metadata.lineage.column_edges import DatasetField, Influence
from localcdap.metadata.lineage.field_records import ApplicationEdge
from localcdap.metadata.lineage.relations import AccessType, DatasetEdge, DatasetId, ProgramId
from localcdap.metadata.lineage.service import DatasetTrace, FieldTrace
from localcdap.metadata.lineage.traversal import (
    DatasetGraph,
    DatasetNode,
    FieldGraph,
    FieldNode,
)
from localcdap.tui.canvas.chart import PortKind
from localcdap.tui.screens.lineage.graph import (
    build_cards,
    build_chart,
    find_connected,
    format_mermaid,
    get_key,
    label_influence,
    list_impact,
    merge_traces,
)
from localcdap.tui.screens.lineage.panel import list_rows

A, B, C = (DatasetId("ns", name) for name in "abc")
LOAD = ProgramId("ns", "load", "Workflow", "W")


def field(dataset, name):
    return DatasetField(dataset, name)


def edge(source, target, kind=EdgeKind.IDENTITY, **more):
    return ApplicationEdge(source, target, Influence(kind, **more), "ns", "load")


def trace_of_a_field():
    """``a.x`` makes ``b.x`` and decides about all of ``b``, of which ``b.y`` makes ``c.y``."""
    edges = [
        edge(field(A, "x"), field(B, "x"), EdgeKind.TRANSFORMATION),
        edge(field(A, "x"), field(B, None), EdgeKind.FILTER, assumed=True),
        edge(field(B, "y"), field(C, "y")),
    ]
    nodes = [
        FieldNode(field(A, "x"), 0, True),
        FieldNode(field(B, "x"), 1, True),
        FieldNode(field(B, None), 1, False),
        FieldNode(field(C, "y"), 2, False),
    ]
    return FieldTrace(outgoing=FieldGraph(field(A, "x"), nodes, edges))


def test_the_names_of_one_dataset_are_linked():
    graph = merge_traces(
        {
            A: DatasetTrace(
                outgoing=DatasetGraph(
                    A,
                    [DatasetNode(A, 0), DatasetNode(B, 0)],
                    [DatasetEdge(B, LOAD, AccessType.READ)],
                    same=[(A, B)],
                )
            )
        }
    )
    assert [(e.source, e.target, e.label) for e in graph.links] == [
        (B, LOAD, ""),
        (A, B, "same data"),
    ]
    names = (field(A, "x"), field(B, "x"))
    part = FieldGraph(
        names[0],
        [*(FieldNode(each, 0, True) for each in names), FieldNode(field(C, "y"), 1, True)],
        [edge(names[1], field(C, "y"))],
        same=[names],
    )
    graph = merge_traces({names[0]: FieldTrace(outgoing=part)})
    assert [e.label for e in graph.links if (e.source, e.target) == names] == ["same data"]
    assert "same data" in format_mermaid(graph)


def test_a_dataset_that_is_read_and_written_has_links_both_ways():
    edges = [DatasetEdge(A, LOAD, AccessType.READ_WRITE), DatasetEdge(B, LOAD, AccessType.UNKNOWN)]
    part = DatasetGraph(A, [DatasetNode(A, 0), DatasetNode(B, 1)], edges)
    graph = merge_traces({A: DatasetTrace(outgoing=part)})
    chart = build_chart(graph)
    drawn = {(link.source[0], link.target[0], link.port.kind) for link in chart.links}
    assert drawn == {
        ("d", "p", PortKind.RECORDS),
        ("p", "d", PortKind.RECORDS),
        ("d", "p", PortKind.INDIRECT),
    }
    assert build_cards(graph, A, "ns")[get_key(A)].words == "asked about"
    assert build_cards(graph, A, "other")[get_key(B)].role == "in ns"


def test_all_fields_are_linked_to_the_single_ones():
    graph = merge_traces({field(A, "x"): trace_of_a_field()})
    each = [(link.source.field, link.target.field) for link in graph.links if link.label == "each"]
    assert each == [(None, "x"), (None, "y")]
    cards = build_cards(graph, field(A, "x"), "ns")
    assert cards[get_key(field(C, "y"))].words == "2 steps behind, indirect"
    assert cards[get_key(field(B, None))].name == "all fields"
    assert cards[get_key(field(B, "y"))].words == "1 step behind, indirect"


def test_direct_and_indirect_links_differ_without_colour():
    links = build_chart(merge_traces({field(A, "x"): trace_of_a_field()})).links
    assert {(link.port.kind, link.port.label) for link in links} == {
        (PortKind.RECORDS, "computed"),
        (PortKind.RECORDS, ""),
        (PortKind.INDIRECT, "filter?"),
        (PortKind.INDIRECT, "each"),
    }


@pytest.mark.parametrize("kind", EdgeKind)
def test_labels_fit_at_a_connection(kind):
    assert len(label_influence(Influence(kind, assumed=True))) <= 12


def test_an_expanded_node_counts_from_the_start():
    more = FieldTrace(
        outgoing=FieldGraph(
            field(C, "y"),
            [FieldNode(field(C, "y"), 0, True), FieldNode(field(A, "z"), 1, True)],
            [edge(field(C, "y"), field(A, "z"))],
        )
    )
    graph = merge_traces({field(A, "x"): trace_of_a_field(), field(C, "y"): more})
    assert graph.distances[field(A, "z")] == 3


def test_a_node_is_connected_with_what_lies_before_and_behind_it():
    graph = merge_traces({field(A, "x"): trace_of_a_field()})
    assert find_connected(graph, field(B, "y")) == {
        *(field(A, "x"), field(B, None), field(B, "y"), field(C, "y"))
    }
    assert find_connected(graph, field(A, "x")) == set(graph.nodes)


def test_mermaid_has_dotted_lines_and_escapes():
    odd = DatasetId("ns", 'a"#1\n')
    part = DatasetGraph(odd, [DatasetNode(odd, 0)], [DatasetEdge(odd, LOAD, AccessType.READ)])
    assert format_mermaid(merge_traces({odd: DatasetTrace(outgoing=part)})).splitlines() == [
        "flowchart LR",
        '  n1["a#quot;#35;1 "]',
        '  n2(["load"])',
        "  n1 --> n2",
    ]
    text = format_mermaid(merge_traces({field(A, "x"): trace_of_a_field()}))
    assert '  n1 -->|"computed, load"| n2' in text.splitlines()
    assert '  n1 -.->|"filter?, load"| n3' in text.splitlines()


def test_the_impact_lists_what_comes_from_the_start():
    graph = merge_traces({field(A, "x"): trace_of_a_field()})
    assert list(list_impact(graph)) == [
        (1, "b", "all fields", "indirect"),
        (1, "b", "x", "direct"),
        (1, "b", "y", "indirect"),
        (2, "c", "y", "indirect"),
    ]
    assert [row["pipelines"] for row in list_rows(graph)] == ["load"] * 4
