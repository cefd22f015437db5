"""Rows of a layout as strips of styled text: only the rows that the screen shows are built.

Connections become characters in cells, with the glyphs where lines meet.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from localcdap.tui.canvas.chart import DOTS, NORMAL, PortKind
from localcdap.tui.canvas.layout import Box, Layout, Wire
from localcdap.tui.canvas.stage_card import StageCard, StageMark
from localcdap.tui.labels import sanitize_name

UP: Final = 1
RIGHT: Final = 2
DOWN: Final = 4
LEFT: Final = 8
UPRIGHT: Final = UP | DOWN
LEVEL: Final = LEFT | RIGHT

_JOINTS: Final = {
    UP | RIGHT: "╰",
    RIGHT | DOWN: "╭",
    DOWN | LEFT: "╮",
    UP | LEFT: "╯",
    UPRIGHT | RIGHT: "├",
    UPRIGHT | LEFT: "┤",
    LEVEL | DOWN: "┬",
    LEVEL | UP: "┴",
    UPRIGHT | LEVEL: "┼",
}
_STROKES: Final = {
    PortKind.RECORDS: ("─", "│"),
    PortKind.PORT: ("─", "│"),
    PortKind.TRUE: ("─", "│"),
    PortKind.FALSE: ("╌", "╎"),
    PortKind.ERRORS: ("┄", "┆"),
    PortKind.ALERTS: ("┈", "┊"),
    PortKind.BACK: ("═", "║"),
    PortKind.INDIRECT: ("╌", "╎"),
}
"""The horizontal and the vertical character of each kind."""


def get_line_glyph(sides: int, kind: PortKind) -> str:
    """Return the character of a connection in a cell.

    :param sides: the sides of the cell that the connection reaches.
    """
    joint = _JOINTS.get(sides)
    if joint is not None:
        return joint
    level, upright = _STROKES[kind]
    return level if sides & LEVEL else upright


def get_arrow_head(*, is_back: bool) -> str:
    """Return the head of an arrow."""
    return "◀" if is_back else "▶"


@dataclass(slots=True)
class Cell:
    """A character of one or more wires."""

    x: int
    text: str
    wires: tuple[int, ...]
    """Numbers of the wires in the cell; the character belongs to the last one."""
    is_label: bool = False


_X = attrgetter("x")


class Cells:
    """The cells of all wires, by row. Boxes are drawn over them."""

    def __init__(self, layout: Layout) -> None:
        self._rows: dict[int, list[Cell]] = {}
        sides: dict[tuple[int, int], dict[int, int]] = {}
        for number, wire in enumerate(layout.wires):
            for place, mask in _find_sides(wire).items():
                sides.setdefault(place, {})[number] = mask
        texts: dict[tuple[int, int], Cell] = {}
        for (x, y), masks in sides.items():
            texts[x, y] = _build_cell(x, masks, layout)
        for number, wire in enumerate(layout.wires):
            for x, y in wire.heads:
                here = sides[x, y]
                texts[x, y] = Cell(x, get_arrow_head(is_back=wire.is_back), (*here, number))
            if wire.label is not None:
                left, y, text = wire.label
                for x, character in enumerate(text, left):
                    texts[x, y] = Cell(x, character, (number,), is_label=True)
        for (_, y), cell in texts.items():
            self._rows.setdefault(y, []).append(cell)
        for row in self._rows.values():
            row.sort(key=_X)

    def list_row(self, y: int, first: int, last: int) -> Iterator[Cell]:
        """Yield the cells of a row from a column to before another, left to right."""
        row = self._rows.get(y, ())
        for place in range(bisect_left(row, first, key=_X), len(row)):
            cell = row[place]
            if cell.x >= last:
                return
            yield cell


def list_wire_cells(wire: Wire) -> set[tuple[int, int]]:
    """Return the columns and rows of the cells of a wire."""
    return set(_find_sides(wire))


def _find_sides(wire: Wire) -> dict[tuple[int, int], int]:
    """Return the sides that a wire reaches in each of its cells."""
    found: dict[tuple[int, int], int] = {}
    for x1, y1, x2, y2 in wire.segments:
        if y1 == y2:
            for x in range(x1, x2 + 1):
                mask = (LEFT if x > x1 else 0) | (RIGHT if x < x2 else 0)
                found[x, y1] = found.get((x, y1), 0) | mask
        else:
            for y in range(y1, y2 + 1):
                mask = (UP if y > y1 else 0) | (DOWN if y < y2 else 0)
                found[x1, y] = found.get((x1, y), 0) | mask
    return found


def _build_cell(x: int, masks: dict[int, int], layout: Layout) -> Cell:
    """Build a cell of wires: a vertical wire crosses in front of others; wires that meet are joined."""
    top = next((n for n, mask in masks.items() if mask == UPRIGHT), None)
    if top is not None and len(masks) > 1:
        others = [n for n in masks if n != top]
        if all(masks[n] == LEVEL for n in others):
            return Cell(x, get_line_glyph(UPRIGHT, layout.wires[top].port.kind), (*others, top))
    joined = 0
    for mask in masks.values():
        joined |= mask
    numbers = tuple(masks)
    return Cell(x, get_line_glyph(joined, layout.wires[numbers[-1]].port.kind), numbers)


_THIN: Final = "╭─╮│╰╯├"
_THICK: Final = "┏━┓┃┗┛┣"
_LEAST_MIDDLE: Final = 8
"""Cells from which on a text is shortened in its middle."""
STYLES: Final = (
    "frame",
    "frame-selected",
    "title",
    "name",
    "name-selected",
    "note",
    "wire",
    "wire-selected",
    "flow",
    "label",
    "heading",
    "unknown",
    "checking",
    "valid",
    "warned",
    "recorded",
    "wrong",
    "running",
)
"""The styles of the parts of a drawing; the canvas has a component class for each."""

Styles = Mapping[str, Style]


class Painter:
    """Draws a layout.

    :param styles: a style for each name in :data:`STYLES`, and ``ground`` for the background.
    """

    def __init__(self, layout: Layout, styles: Styles) -> None:
        self.layout = layout
        self.cards: Mapping[str, StageCard] = {}
        self.selected: frozenset[str] = frozenset()
        """Stages that are drawn with a thick frame and bright connections."""
        self.dimmed: frozenset[str] = frozenset()
        """Stages whose names are drawn as notes."""
        self.marks: Mapping[tuple[int, int], str] = {}
        """Characters that replace those of wires, by column and row: the records of a run."""
        self.styles = styles
        self._cells = Cells(layout)
        self._boxes: dict[int, list[Box]] = {}
        for box in sorted(layout.boxes.values(), key=lambda box: box.x):
            for y in range(box.y, box.bottom):
                self._boxes.setdefault(y, []).append(box)
        self._headings = {heading.y: heading for heading in layout.headings}
        self._bright: frozenset[int] = frozenset()

    def select(self, *names: str | None) -> None:
        """Draw stages as selected."""
        self.selected = frozenset(name for name in names if name is not None)
        self._bright = frozenset(
            number
            for number, wire in enumerate(self.layout.wires)
            if wire.start in self.selected or not self.selected.isdisjoint(wire.ends)
        )

    def find_rows(self, name: str | None) -> set[int]:
        """Return the rows that look different when a stage is selected."""
        box = self.layout.boxes.get(name or "")
        if box is None:
            return set()
        wires = (w for w in self.layout.wires if box.name == w.start or box.name in w.ends)
        spans = [(min(y1, y2), max(y1, y2)) for w in wires for _, y1, _, y2 in w.segments]
        spans.append((box.y, box.bottom - 1))
        return {row for first, last in spans for row in range(first, last + 1)}

    def render_row(self, y: int, left: int, width: int) -> Strip:
        """Return a part of a row: ``width`` cells from a column on."""
        right, x = left + width, left
        segments: list[Segment] = []
        for box in self._boxes.get(y, ()):
            if box.right <= left:
                continue
            if box.x >= right:
                break
            segments += self._render_gap(y, x, box.x)
            row = Strip(self._render_box_row(box, y - box.y), box.width)
            if box.x < left or box.right > right:
                row = row.crop(max(left - box.x, 0), right - box.x)
            segments += row
            x = box.right
        segments += self._render_gap(y, x, right)
        return Strip(segments, width)

    def _render_gap(self, y: int, first: int, last: int) -> Iterator[Segment]:
        """Yield connections and background from a column to before another."""
        ground = self.styles["ground"]
        heading = self._headings.get(y)
        if heading is not None and first < last:
            text = heading.text[max(first - heading.x, 0) :][: last - first]
            yield Segment(text, self.styles["heading"])
            first += len(text)
        x, text, style = first, "", ground
        for cell in self._cells.list_row(y, first, last):
            mark = self.marks.get((cell.x, y)) if self.marks else None
            wanted = self.styles["flow"] if mark else self._get_cell_style(cell)
            if cell.x > x:
                if text:
                    yield Segment(text, style)
                yield Segment(" " * (cell.x - x), ground)
                text = ""
            elif text and wanted is not style:
                yield Segment(text, style)
                text = ""
            text, style, x = text + (mark or cell.text), wanted, cell.x + 1
        if text:
            yield Segment(text, style)
        if x < last:
            yield Segment(" " * (last - x), ground)

    def _get_cell_style(self, cell: Cell) -> Style:
        if not self._bright.isdisjoint(cell.wires):
            return self.styles["wire-selected"]
        return self.styles["label" if cell.is_label else "wire"]

    def _render_box_row(self, box: Box, row: int) -> list[Segment]:
        card = self.cards.get(box.name) or StageCard(box.name)
        is_selected = box.name in self.selected
        if self.layout.zoom.level == DOTS.level:
            return self._render_dot(box, card, row, is_selected=is_selected)
        if self.layout.zoom.height == 1:
            return self._render_line_box(box, card, row, is_selected=is_selected)
        return self._render_framed_box(box, card, row, is_selected=is_selected)

    def _render_framed_box(
        self, box: Box, card: StageCard, row: int, *, is_selected: bool
    ) -> list[Segment]:
        styles = self.styles
        frame = styles["frame-selected" if is_selected else "frame"]
        glyphs = _THICK if is_selected else _THIN
        if row == box.height - 1:
            return [Segment(glyphs[4] + glyphs[1] * (box.width - 2) + glyphs[5], frame)]
        if row == 0:
            title = elide(_format_title(card, box.width - 6), box.width - 6)
            rest = box.width - 4 - cell_len(title)
            return [
                Segment(glyphs[0] + glyphs[1] + " ", frame),
                Segment(title, styles["title"]),
                Segment(" " + glyphs[1] * (rest - 1) + glyphs[2], frame),
            ]
        right = glyphs[6] if box.y + row in box.port_rows else glyphs[3]
        inner = self._render_content(card, row, box.width - 4, self._get_name_style(box.name))
        return [Segment(glyphs[3] + " ", frame), *inner, Segment(" " + right, frame)]

    def _get_name_style(self, name: str) -> Style:
        if name in self.selected:
            return self.styles["name-selected"]
        return self.styles["note" if name in self.dimmed else "name"]

    def _render_content(self, card: StageCard, row: int, width: int, name: Style) -> list[Segment]:
        styles = self.styles
        is_small = self.layout.zoom.height < NORMAL.height
        if row == 1 and is_small:
            return self._render_brief(card, width, name)
        if row == 1:
            marks = (" ↺" if card.is_loop else "") + (" ✎" if card.remark else "")
            left = width - len(marks)
            return [Segment(pad(elide_middle(card.name, left), left) + marks, name)]
        if row == 2 and not is_small:
            words = card.words
            if card.brief and cell_len(words) + 2 > width:
                words = card.brief
            words = elide(f"{card.mark.value} {words}", width)
            room = width - cell_len(words)
            note = card.note if cell_len(card.note) < room else ""
            note = pad(note, room, is_right=True)
            return [Segment(words, self._get_mark_style(card.mark)), Segment(note, styles["note"])]
        return [Segment(" " * width, styles["note"])]

    def _render_brief(self, card: StageCard, width: int, name: Style) -> list[Segment]:
        """Render mark, name and count in one row."""
        short = f" {card.short}" if card.short else ""
        space = width - 2 - cell_len(short)
        return [
            Segment(card.mark.value + " ", self._get_mark_style(card.mark)),
            Segment(pad(elide_middle(card.name, space), space), name),
            Segment(short, self.styles["note"]),
        ]

    def _render_line_box(
        self, box: Box, card: StageCard, row: int, *, is_selected: bool
    ) -> list[Segment]:
        """Render mark and name in one row; the other rows, which exist for the ports, are empty."""
        styles = self.styles
        edge = styles["frame-selected" if is_selected else "frame"]
        left, right = ("▐", "▌") if is_selected else ("│", "│")
        if row:
            return [Segment(left + " " * (box.width - 2) + right, edge)]
        return [
            Segment(left, edge),
            *self._render_brief(card, box.width - 2, self._get_name_style(box.name)),
            Segment(right, edge),
        ]

    def _render_dot(
        self, box: Box, card: StageCard, row: int, *, is_selected: bool
    ) -> list[Segment]:
        styles = self.styles
        edge = styles["frame-selected" if is_selected else "frame"]
        left, right = ("[", "]") if is_selected else ("(", ")")
        middle = card.mark.value if row == 0 else " "
        return [
            Segment(left, edge),
            Segment(middle, self._get_mark_style(card.mark)),
            Segment(right, edge),
        ]

    def _get_mark_style(self, mark: StageMark) -> Style:
        return self.styles[mark.name.lower()]


def _format_title(card: StageCard, width: int) -> str:
    """Return plugin and type, or only the plugin where both do not fit."""
    whole = f"{card.title} · {card.role}"
    return whole if card.role and cell_len(whole) <= width else card.title


@lru_cache(maxsize=4096)
def elide(text: str, width: int) -> str:
    """Return the text on one line, shortened to a width in cells."""
    text = sanitize_name(text)
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…" if width > 0 else ""


@lru_cache(maxsize=4096)
def elide_middle(text: str, width: int) -> str:
    """Return the text on one line, shortened in the middle: names often differ at their ends.

    >>> elide_middle("Purchases of all customers", 16)
    'Purchase…stomers'
    """
    text = sanitize_name(text)
    if cell_len(text) <= width or width < _LEAST_MIDDLE:
        return elide(text, width)
    tail = (width - 1) // 2
    end = next(text[i:] for i in range(len(text)) if cell_len(text[i:]) <= tail)
    return f"{set_cell_size(text, width - 1 - cell_len(end)).rstrip()}…{end.lstrip()}"


@lru_cache(maxsize=4096)
def pad(text: str, width: int, *, is_right: bool = False) -> str:
    """Return the text on one line, shortened or padded to a width in cells."""
    text = elide(text, width)
    space = " " * (width - cell_len(text))
    return space + text if is_right else text + space


def build_blank(width: int, style: Style) -> Strip:
    """Return an empty row."""
    return Strip([Segment(" " * width, style)], width)
