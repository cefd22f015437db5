"""Layouts: nothing lies on anything else, and every line reaches its ends."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.tui.canvas.chart import COMPACT, DOTS, NORMAL, ZOOMS, Chart, Link, Port, PortKind
from localcdap.tui.canvas.layers import arrange
from localcdap.tui.canvas.layout import lay_out
from tests.tui.canvas.charts import chain, charts

zooms = st.sampled_from(ZOOMS)


def cells(wire):
    """The cells of a wire, and those that each leads to."""
    found = {}
    for x1, y1, x2, y2 in wire.segments:
        line = [
            (x, y)
            for x in range(min(x1, x2), max(x1, x2) + 1)
            for y in range(min(y1, y2), max(y1, y2) + 1)
        ]
        for one, other in zip(line, line[1:], strict=False):
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
    return found


def reached(wire, start):
    ways, ahead, seen = cells(wire), [start], {start}
    while ahead:
        for cell in ways.get(ahead.pop(), ()):
            if cell not in seen:
                seen.add(cell)
                ahead.append(cell)
    return seen


@given(charts(), zooms)
@settings(max_examples=200, deadline=None)
def test_every_stage_has_a_box_of_its_own(chart, zoom):
    found = lay_out(chart, zoom)

    assert set(found.boxes) == {*chart.nodes, *chart.endings}
    for one, other in combinations(found.boxes.values(), 2):
        apart = (
            one.right <= other.x
            or other.right <= one.x
            or one.bottom <= other.y
            or other.bottom <= one.y
        )
        assert apart, (one, other)
    for box in found.boxes.values():
        assert 0 <= box.x < box.right <= found.width
        assert 0 <= box.y < box.bottom <= found.height


@given(charts(), zooms)
@settings(max_examples=200, deadline=None)
def test_every_line_reaches_its_ends(chart, zoom):
    found = lay_out(chart, zoom)
    drawn = set()
    for wire in found.wires:
        start = found.boxes[wire.start]
        port = start.port_rows[[w for w in found.wires if w.start == wire.start].index(wire)]
        there = reached(wire, (start.right - 1, port))
        for end in wire.ends:
            box = found.boxes[end]
            assert (box.x, box.enters) in there
            if wire.is_back:
                drawn.add((end, wire.start))
            else:
                drawn.add((wire.start, end))
                assert (box.x - 1, box.enters) in wire.heads
        for x1, y1, x2, y2 in wire.segments:
            assert x1 == x2 or y1 == y2
            assert 0 <= min(x1, x2) <= max(x1, x2) < found.width
            assert 0 <= min(y1, y2) <= max(y1, y2) < found.height
    wanted = {(link.source, link.target) for link in chart.links}
    assert drawn == {pair for pair in wanted if pair[0] != pair[1]}
    assert found.loops == {a for a, b in wanted if a == b}


@given(charts(), zooms)
@settings(max_examples=200, deadline=None)
def test_no_line_goes_through_a_box(chart, zoom):
    found = lay_out(chart, zoom)
    inside = {
        (x, y)
        for box in found.boxes.values()
        for x in range(box.x + 1, box.right - 1)
        for y in range(box.y, box.bottom)
    }
    for wire in found.wires:
        assert not inside & cells(wire).keys()


@given(charts(), zooms)
@settings(max_examples=200, deadline=None)
def test_two_lines_are_in_one_cell_only_where_they_cross_or_lead_to_one_stage(chart, zoom):
    found = lay_out(chart, zoom)
    edges = {(box.right - 1, row) for box in found.boxes.values() for row in box.port_rows}
    for one, other in combinations(found.wires, 2):
        mine, theirs = cells(one), cells(other)
        shared = set(one.ends) & set(other.ends)
        for cell in mine.keys() & theirs.keys() - edges:
            across = {(x - cell[0], y - cell[1]) for x, y in mine[cell]}
            down = {(x - cell[0], y - cell[1]) for x, y in theirs[cell]}
            crossing = across | down == {(1, 0), (-1, 0), (0, 1), (0, -1)} and not across & down
            assert crossing or shared, (cell, one, other)


@given(charts(), zooms)
@settings(max_examples=60, deadline=None)
def test_a_layout_is_the_same_each_time(chart, zoom):
    first = lay_out(chart, zoom)
    lay_out.cache_clear()
    arrange.cache_clear()

    assert lay_out(chart, zoom) == first


@given(charts(), zooms)
@settings(max_examples=100, deadline=None)
def test_another_name_moves_nothing(chart, zoom):
    def renamed(name):
        return "another and a much longer name" if name == "s0" else name

    other = Chart(
        tuple(map(renamed, chart.nodes)),
        tuple(Link(renamed(k.source), renamed(k.target), k.port) for k in chart.links),
        chart.endings,
    )

    places = {renamed(n): (b.x, b.y) for n, b in lay_out(chart, zoom).boxes.items()}

    assert {n: (b.x, b.y) for n, b in lay_out(other, zoom).boxes.items()} == places


@given(charts(), zooms)
@settings(max_examples=100, deadline=None)
def test_a_new_stage_without_connections_moves_no_connected_one(chart, zoom):
    linked = {end for k in chart.links if k.source != k.target for end in (k.source, k.target)}
    before = lay_out(chart, zoom).boxes
    after = lay_out(Chart((*chart.nodes, "new"), chart.links, chart.endings), zoom).boxes

    assert {n: after[n] for n in linked} == {n: before[n] for n in linked}


@pytest.mark.parametrize("zoom", ZOOMS)
def test_a_chain_is_one_straight_line(zoom):
    found = lay_out(chain(5), zoom)

    assert {box.y for box in found.boxes.values()} == {0}
    assert {segment[1] for wire in found.wires for segment in wire.segments} == {zoom.first}
    assert found.height == zoom.height


def test_what_is_added_behind_a_chain_moves_nothing():
    before = lay_out(chain(5), NORMAL).boxes
    after = lay_out(chain(6), NORMAL).boxes

    assert {n: after[n] for n in list(before)[:4]} == {n: before[n] for n in list(before)[:4]}
    assert (after["s4"].x, after["s4"].y) == (before["s4"].x, before["s4"].y)


def test_ports_have_rows_and_labels_of_their_own():
    links = (
        Link("c", "no", Port(PortKind.FALSE, "false")),
        Link("c", "yes", Port(PortKind.TRUE, "true")),
    )
    found = lay_out(Chart(("c", "yes", "no"), links), NORMAL)

    labels = {wire.label[2]: wire.label[1] for wire in found.wires}
    assert labels == {
        " true ": found.boxes["c"].port_rows[0],
        " false ": found.boxes["c"].port_rows[1],
    }
    assert found.boxes["yes"].y < found.boxes["no"].y
    assert not any(wire.label for wire in lay_out(Chart(("c", "yes", "no"), links), DOTS).wires)


def test_a_long_label_is_cut():
    links = (Link("s", "t", Port(PortKind.PORT, "a very long name of a port")),)

    assert lay_out(Chart(("s", "t"), links), COMPACT).wires[0].label[2] == " a very long… "


def test_what_is_done_at_the_end_stands_below_its_heading():
    found = lay_out(Chart(("a", "b"), (Link("a", "b"),), ("mail",)), NORMAL)

    assert found.headings[0].y >= found.boxes["a"].bottom
    assert found.boxes["mail"].y == found.headings[0].y + 1


def test_nothing_is_laid_out_too():
    found = lay_out(Chart(()), NORMAL)

    assert (found.width, found.height, found.boxes) == (0, 0, {})
