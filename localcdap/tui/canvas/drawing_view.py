"""The drawing of a pipeline in a scrolled view: stages, connections, records of a run, overview.

The records of a run are counts on the connections, and markers that move while records arrive. The
overview in a corner shows all stages, and the part that is in view. :class:`PipelineChart` shows a
saved pipeline: at the nearest zoom with names at which it is whole in view; one that is larger begins
at its left, with the overview.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Mapping, Set
from itertools import groupby
from math import ceil
from operator import itemgetter
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.geometry import Offset, Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from localcdap.pipeline.document.model import PipelineDocument
from localcdap.runs.model import StageCounts
from localcdap.tui.canvas.chart import COMPACT, NORMAL, SNUG, Chart, PortKind, Zoom, build_chart
from localcdap.tui.canvas.layout import Layout, Wire, lay_out
from localcdap.tui.canvas.painter import STYLES, Painter, build_blank, list_wire_cells
from localcdap.tui.canvas.stage_card import StageCard, StageMark, build_card, format_count

MARKER: Final = "●"
_PERIOD: Final = 4
"""Cells from one marker to the next."""
_MOVING_S: Final = 2.0
"""Seconds for which markers move after a count has grown: a run reports its counts once a second."""

Place = tuple[int, int]
"""Column and row of a cell."""


class RecordFlow:
    """What is drawn over the wires of a layout while the counts of a run are shown.

    :param former: the flow of the same run in another layout.
    """

    def __init__(self, layout: Layout, former: RecordFlow | None = None) -> None:
        self._layout: Final = layout
        self._distances: Final[dict[int, dict[Place, int]]] = {}
        """By wire, the number of cells from its start to each of its cells."""
        self._counts: Mapping[str, StageCounts] = former._counts if former is not None else {}
        self._grown: dict[str, float] = dict(former._grown) if former is not None else {}
        """By stage, when its counts have grown last."""

    def update(self, counts: Mapping[str, StageCounts], now: float) -> None:
        """Take the counts of a run.

        :param now: ``time.monotonic``.
        """
        for stage, new in counts.items():
            old = self._counts.get(stage)
            if _add_up(new) > (_add_up(old) if old is not None else 0):
                self._grown[stage] = now
        self._counts = dict(counts)

    def is_moving(self, now: float) -> bool:
        """Whether any count has grown lately."""
        return any(now - at < _MOVING_S for at in self._grown.values())

    def build_marks(self, step: int, now: float) -> dict[Place, str]:
        """Return the characters that replace those of wires.

        :param step: the number of cells by which the markers have moved.
        """
        marks: dict[Place, str] = {}
        for number, wire in enumerate(self._layout.wires):
            distances = self._measure(number, wire)
            moves = any(
                now - self._grown.get(stage, -_MOVING_S) < _MOVING_S
                for stage in (wire.start, *wire.ends)
            )
            if moves and self._get_count(wire) != 0:
                marks |= {
                    place: MARKER
                    for place, distance in distances.items()
                    if (distance - step) % _PERIOD == 0
                }
            count = self._get_count(wire)
            if count:
                marks |= _place_count(format_count(count), wire, distances)
        return marks

    def _get_count(self, wire: Wire) -> int | None:
        """Return the number of records that a wire has carried; None when it is not known."""
        counts = self._counts.get(wire.start)
        if counts is None or wire.port.kind is PortKind.PORT:
            return None
        return counts.errors if wire.port.kind is PortKind.ERRORS else counts.records_out

    def _measure(self, number: int, wire: Wire) -> dict[Place, int]:
        found = self._distances.get(number)
        if found is None:
            found = self._distances[number] = _measure_distances(wire, self._layout)
        return found


def _list_label_cells(wire: Wire) -> set[Place]:
    if wire.label is None:
        return set()
    left, y, text = wire.label
    return {(x, y) for x in range(left, left + len(text))}


def _add_up(counts: StageCounts) -> int:
    return sum(n or 0 for n in (counts.records_in, counts.records_out, counts.errors))


def _measure_distances(wire: Wire, layout: Layout) -> dict[Place, int]:
    """Return the distance of each cell of a wire from the stage where it begins."""
    cells = list_wire_cells(wire)
    box = layout.boxes.get(wire.start)
    right = box.right - 1 if box is not None else 0
    first = min(cells, key=lambda place: abs(place[0] - right))
    distances = {first: 0}
    queue = deque([first])
    while queue:
        x, y = queue.popleft()
        for near in ((x + 1, y), (x, y + 1), (x, y - 1), (x - 1, y)):
            if near in cells and near not in distances:
                distances[near] = distances[x, y] + 1
                queue.append(near)
    seen = distances.keys() - set(wire.heads) - _list_label_cells(wire)
    return {place: distances[place] for place in seen if layout.find_box(*place) is None}


def _place_count(text: str, wire: Wire, cells: Mapping[Place, int]) -> dict[Place, str]:
    """Return the cells of a count in the first level part of a wire that is long enough."""
    for x1, y1, x2, y2 in wire.segments:
        free = [x for x in range(x1, x2 + 1) if (x, y1) in cells]
        if y1 == y2 and free:
            room = max(_split_runs(free), key=len)
            if len(room) >= len(text) + 2:
                left = room[0] + (len(room) - len(text)) // 2
                return {(left + i, y1): character for i, character in enumerate(text)}
    return {}


def _split_runs(columns: list[int]) -> list[list[int]]:
    """Split ascending columns into those that follow each other without a gap."""
    runs: list[list[int]] = []
    for x in columns:
        if runs and runs[-1][-1] == x - 1:
            runs[-1].append(x)
        else:
            runs.append([x])
    return runs


_MOST: Final = Size(36, 8)
"""Cells of the overview without its frame, at most."""
_SHARE: Final = 3
"""An overview takes at most this part, a third, of the width and the height of the canvas."""
_LEAST: Final = Size(12, 3)
"""Cells of the smallest overview; in a smaller canvas there is none."""
_IN_VIEW: Final = "░"
_STAGE: Final = "▪"
_STAGE_IN_VIEW: Final = "█"
SELECTED: Final = "◆"
WRONG: Final = "✗"


class Minimap:
    """A layout in a few cells, each of which stands for equally many columns and rows.

    :param space: the size of the canvas.
    """

    def __init__(self, layout: Layout, space: Size) -> None:
        self.space: Final = space
        most = Size(
            min(_MOST.width, space.width // _SHARE - 2),
            min(_MOST.height, space.height // _SHARE - 2),
        )
        self.is_too_small: Final = most.width < _LEAST.width or most.height < _LEAST.height
        """Whether the canvas has no space for an overview."""
        self._across: Final = max(1, ceil(layout.width / max(most.width, 1)))
        self._down: Final = max(layout.zoom.height, ceil(layout.height / max(most.height, 1)))
        self._columns: Final = max(1, ceil(layout.width / self._across))
        self._rows: Final = max(1, ceil(layout.height / self._down))
        self.region: Final = Region(
            space.width - self._columns - 2,
            space.height - self._rows - 2,
            self._columns + 2,
            self._rows + 2,
        )
        """Where the overview with its frame is in the canvas: in the corner at the bottom right."""
        self._places: Final[dict[str, list[tuple[int, int]]]] = {
            name: [
                (x, y)
                for y in range(box.y // self._down, (box.bottom - 1) // self._down + 1)
                for x in range(box.x // self._across, (box.right - 1) // self._across + 1)
            ]
            for name, box in layout.boxes.items()
        }
        self._taken: Final = {place for places in self._places.values() for place in places}

    def render(
        self,
        view: Region,
        selected: str | None,
        wrong: Collection[str],
        styles: Mapping[str, Style],
    ) -> list[Strip]:
        """Return the rows of the overview with its frame, from top to bottom.

        :param view: the part of the drawing that is in view, in cells of the drawing.
        :param wrong: stages with failures.
        :param styles: those of the painter.
        """
        marks = {place: (WRONG, styles["wrong"]) for name in wrong for place in self._find(name)}
        marks |= dict.fromkeys(self._find(selected), (SELECTED, styles["name-selected"]))
        frame = styles["frame"]
        rows = [Strip([Segment("╭" + "─" * self._columns + "╮", frame)], self._columns + 2)]
        columns = range(view.x // self._across, (view.right - 1) // self._across + 1)
        lines = range(view.y // self._down, (view.bottom - 1) // self._down + 1)
        looks = {  # by whether a stage is there, and whether the cell is in view
            (True, True): (_STAGE_IN_VIEW, styles["name"]),
            (True, False): (_STAGE, styles["note"]),
            (False, True): (_IN_VIEW, frame),
            (False, False): (" ", frame),
        }
        for y in range(self._rows):
            is_line = y in lines
            cells = [
                marks.get((x, y)) or looks[(x, y) in self._taken, is_line and x in columns]
                for x in range(self._columns)
            ]
            runs = [
                Segment("".join(text for text, _ in run), style)
                for style, run in groupby(cells, itemgetter(1))
            ]
            edge = Segment("│", frame)
            rows.append(Strip([edge, *runs, edge], self._columns + 2))
        rows.append(Strip([Segment("╰" + "─" * self._columns + "╯", frame)], self._columns + 2))
        return rows

    def find_place(self, x: int, y: int) -> Offset | None:
        """Return the cell of the drawing for a cell of the canvas; None outside of the overview."""
        if not self.region.shrink((1, 1, 1, 1)).contains(x, y):
            return None
        column, row = x - self.region.x - 1, y - self.region.y - 1
        return Offset(column * self._across + self._across // 2, row * self._down + self._down // 2)

    def _find(self, stage: str | None) -> list[tuple[int, int]]:
        """Return the first cell of a stage, where its mark stands."""
        return self._places.get(stage or "", [])[:1]


_MARGIN: Final = 2
"""Free columns around the drawing; half as many rows."""
_FLOW_S: Final = 0.2
"""Seconds in which the markers of records move by one cell."""


class DrawingView(ScrollView):
    """Shows a chart and the cards of its stages."""

    DEFAULT_CSS = """
    DrawingView {
        background: $background;
        scrollbar-size: 1 1;
        scrollbar-color: $panel;
        scrollbar-color-hover: $panel-lighten-2;
        scrollbar-color-active: $panel-lighten-2;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-corner-color: $background;
        & > .canvas--frame { color: $foreground 35%; }
        & > .canvas--frame-selected { color: $accent; }
        & > .canvas--title { color: $foreground 55%; }
        & > .canvas--name { color: $foreground; }
        & > .canvas--name-selected { color: $accent; text-style: bold; }
        & > .canvas--note { color: $foreground 45%; }
        & > .canvas--wire { color: $foreground 40%; }
        & > .canvas--wire-selected { color: $accent; }
        & > .canvas--flow { color: $primary; text-style: bold; }
        & > .canvas--label { color: $foreground 70%; text-style: italic; }
        & > .canvas--heading { color: $foreground 55%; text-style: italic; }
        & > .canvas--unknown { color: $foreground 45%; }
        & > .canvas--checking { color: $primary; }
        & > .canvas--valid { color: $success; }
        & > .canvas--recorded { color: $accent; }
        & > .canvas--warned { color: $warning; }
        & > .canvas--wrong { color: $error; text-style: bold; }
        & > .canvas--running { color: $primary; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"canvas--{name}" for name in STYLES}
    empty = ""
    """The text that is shown while there are no stages."""

    selected: reactive[str | None] = reactive(None)
    """The stage with the thick frame."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._chart = Chart(())
        self._cards: dict[str, StageCard] = {}
        self._zoom = NORMAL
        self._layout = Layout(NORMAL)
        self._painter_cache: Painter | None = None
        self._strips: LRUCache[tuple[int, int, int], Strip] = LRUCache(512)
        self._ground = Style()
        self._dimmed: frozenset[str] = frozenset()
        self._flow: RecordFlow | None = None
        """The records of the run that is shown; None when no run is."""
        self._flow_step = 0
        self._flow_timer: Timer | None = None
        self._wants_minimap = True
        self._minimap_cache: Minimap | None = None
        self._minimap_strips: list[Strip] | None = None
        """The overview as it is now; None when something in it has changed."""

    @property
    def zoom(self) -> Zoom:
        return self._zoom

    @property
    def drawing(self) -> Layout:
        """The layout that is shown."""
        return self._layout

    def show_cards(self, cards: Mapping[str, StageCard]) -> None:
        """Show other cards of some stages."""
        changed = [name for name, card in cards.items() if self._cards.get(name) != card]
        self._cards.update(cards)
        boxes = [self._layout.boxes[name] for name in changed if name in self._layout.boxes]
        self._redraw({row for box in boxes for row in range(box.y, box.bottom)})

    def dim(self, names: Set[str]) -> None:
        """Draw the names of some stages as less important, and of no others."""
        if names != self._dimmed:
            self._dimmed = frozenset(names)
            self._clear_cache()
            self.refresh()

    def show_flow(self, counts: Mapping[str, StageCounts] | None) -> None:
        """Show the counts of a run on the connections, and markers that move while they grow.

        :param counts: by stage; None when no run is shown.
        """
        if counts is None:
            self._flow = None
        else:
            if self._flow is None:
                self._flow = RecordFlow(self._layout)
            self._flow.update(counts, time.monotonic())
        self._draw_flow()
        if self._flow_timer is None and self._is_flowing:
            self._flow_timer = self.set_interval(_FLOW_S, self._move_flow)

    @property
    def _is_flowing(self) -> bool:
        is_animated = self.app.animation_level != "none"
        return is_animated and self._flow is not None and self._flow.is_moving(time.monotonic())

    def _move_flow(self) -> None:
        self._flow_step += 1
        self._draw_flow()
        if self._flow_timer is not None and not self._is_flowing:
            self._flow_timer.stop()
            self._flow_timer = None

    def _draw_flow(self) -> None:
        painter, flow = self._get_painter(), self._flow
        before = painter.marks
        painter.marks = (
            flow.build_marks(self._flow_step, time.monotonic()) if flow is not None else {}
        )
        changed = before.items() ^ painter.marks.items()
        self._redraw({y for (_, y), _ in changed})

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width = self.size.width
        key = (y + top, left, width)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._render_row(*key)
        if self._minimap_cache is not None and y < self._minimap_cache.region.y:
            return strip  # it begins below, wherever it is then
        minimap = self._minimap
        if minimap is None or not minimap.region.y <= y < minimap.region.bottom:
            return strip
        if self._minimap_strips is None:
            self._minimap_strips = self._render_minimap(minimap)
        corner = self._minimap_strips[y - minimap.region.y]
        return Strip.join([strip.crop(0, minimap.region.x), corner])

    @property
    def _minimap(self) -> Minimap | None:
        """The overview; None when the user does not want it, or the whole drawing is in view."""
        if not self._wants_minimap or self._is_whole:
            return None
        space = self.scrollable_content_region.size
        if self._minimap_cache is None or self._minimap_cache.space != space:
            self._minimap_cache, self._minimap_strips = Minimap(self._layout, space), None
            self.call_later(self.refresh)  # another one may be drawn elsewhere
        return None if self._minimap_cache.is_too_small else self._minimap_cache

    def _render_minimap(self, minimap: Minimap) -> list[Strip]:
        view = self.scrollable_content_region.reset_offset.translate(self.scroll_offset)
        edge = self._edge
        wrong = [name for name, card in self._cards.items() if card.mark is StageMark.WRONG]
        styles = self._get_painter().styles
        return minimap.render(view.translate((-edge.x, -edge.y)), self.selected, wrong, styles)

    def _refresh_minimap(self) -> None:
        """Draw the overview again, because something in it has changed."""
        self._minimap_strips = None
        minimap = self._minimap
        if minimap is not None:
            self.refresh(minimap.region)

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_x(old_value, new_value)
        self._minimap_strips = None

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._minimap_strips = None

    def _render_row(self, y: int, left: int, width: int) -> Strip:
        painter = self._get_painter()
        row = y - self._edge.y
        if row == 0 and not self._chart.nodes:
            note = Segment(self.empty, self.get_component_rich_style("canvas--note"))
            side = " " * max(0, (width - cell_len(self.empty)) // 2)
            strip = Strip([Segment(side, self._ground), note])
            return strip.adjust_cell_length(width, self._ground)
        if not 0 <= row <= self._layout.height:
            return build_blank(width, self._ground)
        return painter.render_row(row, left - self._edge.x, width)

    @property
    def _edge(self) -> Region:
        """The margin left of and above the drawing, which is centered when the canvas is larger."""
        room = self.scrollable_content_region.size
        x = max(_MARGIN, (room.width - self._layout.width) // 2)
        y = max(_MARGIN // 2, (room.height - self._layout.height) // 3)
        return Region(x, y, 0, 0)

    def _get_painter(self) -> Painter:
        if self._painter_cache is None:
            styles = {name: self.get_component_rich_style(f"canvas--{name}") for name in STYLES}
            self._ground = styles["ground"] = Style(bgcolor=self.rich_style.bgcolor)
            self._painter_cache = Painter(self._layout, styles)
            self._painter_cache.cards = self._cards
            self._painter_cache.dimmed = self._dimmed
            self._painter_cache.select(self.selected)
            if self._flow is not None:
                marks = self._flow.build_marks(self._flow_step, time.monotonic())
                self._painter_cache.marks = marks
        return self._painter_cache

    def _lay_out(self) -> None:
        self._layout = lay_out(self._chart, self._zoom)
        if self._flow is not None:
            self._flow = RecordFlow(self._layout, self._flow)
        size = self._layout.width + 2 * _MARGIN, self._layout.height + _MARGIN
        self.virtual_size = Size(*size)
        self._clear_cache()
        self.refresh()

    def _clear_cache(self) -> None:
        self._painter_cache = self._minimap_cache = self._minimap_strips = None
        self._strips.clear()

    def _redraw(self, rows: set[int]) -> None:
        """Render some rows of the drawing again; only rows in view cost time."""
        top = self._edge.y
        for key in list(self._strips.keys()):
            if key[0] - top in rows:
                self._strips.discard(key)
        first = self.scroll_offset.y - top
        seen = sorted(row for row in rows if first <= row < first + self.size.height)
        for _, group in groupby(enumerate(seen), lambda item: item[1] - item[0]):
            lines = [row for _, row in group]
            self.refresh_lines(lines[0] + top, len(lines))
        self._refresh_minimap()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._clear_cache()

    def on_resize(self) -> None:
        self._strips.clear()
        self._minimap_cache = self._minimap_strips = None

    @property
    def _is_whole(self) -> bool:
        """Whether the whole drawing is in view."""
        return self._fits(self._layout)

    def _fits(self, drawing: Layout) -> bool:
        return drawing.width <= self.size.width - 2 and drawing.height <= self.size.height


class PipelineChart(DrawingView):
    """Shows the stages and connections of a document. It takes no keys."""

    def show_document(self, document: PipelineDocument | None) -> None:
        """Draw a document; None draws nothing, and hides the view."""
        self.display = document is not None and bool(document.stages)
        if document is None:
            return
        self._cards = {
            stage.name: build_card(stage.name, stage.plugin.name, stage.plugin.type, None)
            for stage in (*document.stages, *document.post_actions)
        }
        self._show_chart(build_chart(document))

    def on_resize(self) -> None:
        super().on_resize()
        self._show_chart(self._chart)

    def _show_chart(self, chart: Chart) -> None:
        self._chart = chart
        tried = (zoom for zoom in (NORMAL, SNUG) if self._fits(lay_out(chart, zoom)))
        self._zoom = next(tried, COMPACT)
        self._lay_out()
        self.scroll_home(animate=False)
