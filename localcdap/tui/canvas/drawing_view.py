"""The drawing of a pipeline in a scrolled view: stages, connections, the records of a run, the overview."""

from __future__ import annotations

import time
from collections.abc import Mapping, Set
from itertools import groupby
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from localcdap.runs.model import StageCounts
from localcdap.tui.canvas.chart import Chart
from localcdap.tui.canvas.flow import RecordFlow
from localcdap.tui.canvas.layout import Layout, lay_out
from localcdap.tui.canvas.minimap import Minimap
from localcdap.tui.canvas.painter import STYLES, Painter, build_blank
from localcdap.tui.canvas.stage_card import StageCard, StageMark
from localcdap.tui.canvas.zoom import NORMAL, Zoom

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
