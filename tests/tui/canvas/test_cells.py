"""Lines as characters."""

from __future__ import annotations

from localcdap.tui.canvas.chart import COMPACT, DOTS, NORMAL, Chart, Link, Port, PortKind
from localcdap.tui.canvas.layout import lay_out
from localcdap.tui.canvas.painter import Cells


def drawn(chart, zoom=COMPACT):
    """The lines of a chart, with boxes left blank."""
    found = lay_out(chart, zoom)
    rows = []
    for y in range(found.height):
        row = [" "] * found.width
        for cell in Cells(found).list_row(y, 0, found.width):
            if found.find_box(cell.x, y) is None:
                row[cell.x] = cell.text
        rows.append("".join(row).strip())
    return rows


def test_lines_part_and_meet():
    fork = Chart(("a", "b", "c"), (Link("a", "b"), Link("a", "c")))
    assert drawn(fork) == ["─┬─▶", "╰─▶"]

    join = Chart(("a", "b", "c"), (Link("a", "c"), Link("b", "c")))
    assert drawn(join) == ["─┬─▶", "─╯"]


def test_kinds_of_lines_look_different():
    links = (
        Link("c", "yes", Port(PortKind.TRUE, "true")),
        Link("c", "no", Port(PortKind.FALSE, "false")),
    )
    assert drawn(Chart(("c", "yes", "no"), links)) == ["─ true ──▶", "╌ false ╌▶"]

    errors = Chart(("a", "b"), (Link("a", "b", Port(PortKind.ERRORS, "errors")),))
    assert drawn(errors) == ["┄ errors ┄▶"]


def test_what_leads_back_points_back():
    circle = Chart(("a", "b"), (Link("a", "b"), Link("b", "a")))

    assert "◀" in "".join(drawn(circle))


def test_a_line_that_is_crossed_goes_on_behind():
    links = (Link("a", "d"), Link("b", "c"), Link("a", "c"), Link("b", "d"))
    rows = drawn(Chart(("a", "b", "c", "d"), links), NORMAL)

    assert "│" in "".join(rows)
    assert "".join(rows).count("▶") == 2


def test_dots_have_no_labels():
    chart = Chart(("c", "yes"), (Link("c", "yes", Port(PortKind.TRUE, "true")),))

    assert drawn(chart, DOTS) == ["▶"]


def test_only_what_is_asked_for_is_given():
    found = lay_out(Chart(("a", "b"), (Link("a", "b"),)), NORMAL)
    cells = Cells(found)

    assert [cell.x for cell in cells.list_row(1, 27, 29)] == [27, 28]
    assert list(cells.list_row(99, 0, 100)) == []
