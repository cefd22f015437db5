"""The canvas: a pipeline as a graph with a selected stage, scrolling and zoom."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size, Spacing
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from localcdap.runs.model import StageCounts
from localcdap.text import sanitize_for_terminal
from localcdap.tui.canvas.chart import Chart
from localcdap.tui.canvas.flow import RecordFlow
from localcdap.tui.canvas.layout import Layout, lay_out
from localcdap.tui.canvas.navigation import WORDS, find_first, find_neighbour
from localcdap.tui.canvas.painter import STYLES, Painter, build_blank
from localcdap.tui.canvas.stage_card import StageCard
from localcdap.tui.canvas.zoom import DOTS, NORMAL, SNUG, ZOOMS, Zoom

_MARGIN: Final = 2
"""Free columns around the drawing; half as many rows."""
_ROOMY: Final = 100
"""Columns of a canvas that starts with the largest zoom when the drawing does not fit."""
_USUAL: Final = 20
"""The width of boxes when the drawing does not fit."""
_FLOW_S: Final = 0.2
"""Seconds in which the markers of records move by one cell."""
_AROUND_NAME: Final = 4
"""Cells of a box besides the name."""


class Canvas(ScrollView, can_focus=True):
    """Shows a chart and the cards of its stages."""

    DEFAULT_CSS = """
    Canvas {
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
        & > .canvas--warned { color: $warning; }
        & > .canvas--wrong { color: $error; text-style: bold; }
        & > .canvas--running { color: $primary; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"canvas--{name}" for name in STYLES}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "walk('left')", "stage to the left", id="canvas.left", show=False),
        Binding("down,j", "walk('down')", "stage below", id="canvas.down", show=False),
        Binding("up,k", "walk('up')", "stage above", id="canvas.up", show=False),
        Binding("right,l", "walk('right')", "stage to the right", id="canvas.right", show=False),
        Binding("shift+left,H", "pan(-8, 0)", "move left", id="canvas.pan_left", show=False),
        Binding("shift+down,J", "pan(0, 4)", "move down", id="canvas.pan_down", show=False),
        Binding("shift+up,K", "pan(0, -4)", "move up", id="canvas.pan_up", show=False),
        Binding("shift+right,L", "pan(8, 0)", "move right", id="canvas.pan_right", show=False),
        Binding("plus,equals_sign", "zoom(-1)", "larger", id="canvas.larger", show=False),
        Binding("minus", "zoom(1)", "smaller", id="canvas.smaller", show=False),
        Binding("0", "fit", "zoom to fit", id="canvas.fit", show=False),
        Binding("full_stop", "center", "to the middle", id="canvas.center", show=False),
        Binding("enter", "open", "open stage", id="canvas.open", show=False),
    ]

    empty = ""
    """The text that is shown while there are no stages."""

    selected: reactive[str | None] = reactive(None)
    """The stage with the thick frame."""

    @dataclass
    class Selected(Message):
        """The user selected a stage, or none."""

        stage: str | None

    @dataclass
    class Opened(Message):
        """The user opened a stage."""

        stage: str

    @dataclass
    class Drawn(Message):
        """The user drew a connection from one stage to another."""

        source: str
        target: str

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._chart = Chart(())
        self._cards: dict[str, StageCard] = {}
        self._zoom = NORMAL
        self._layout = Layout(NORMAL)
        self._painter_cache: Painter | None = None
        self._strips: LRUCache[tuple[int, int, int], Strip] = LRUCache(512)
        self._ground = Style()
        self._grip: tuple[int, int] | None = None
        """Where the mouse button was pressed or last moved."""
        self._drawn_from: str | None = None
        self._needs_fit = True
        self._flow: RecordFlow | None = None
        """The records of the run that is shown; None when no run is."""
        self._flow_step = 0
        self._flow_timer: Timer | None = None

    # -- content ---------------------------------------------------------------------------

    @property
    def zoom(self) -> Zoom:
        return self._zoom

    @property
    def drawing(self) -> Layout:
        """The layout that is shown."""
        return self._layout

    @property
    def first_stage(self) -> str | None:
        """The stage to start with."""
        return find_first(self._layout)

    def show_chart(self, chart: Chart, renamed: Mapping[str, str] | None = None) -> None:
        """Show another graph; the view stays where it is.

        :param renamed: new names of stages by old names, so that the selection follows.
        """
        if chart == self._chart:
            return
        self._chart = chart
        if self.selected is not None and renamed and self.selected in renamed:
            self.set_reactive(Canvas.selected, renamed[self.selected])
        was_whole = self._is_whole
        self._lay_out()
        if self._needs_fit and was_whole and self.size.width:
            self._show_start()

    def show_cards(self, cards: Mapping[str, StageCard]) -> None:
        """Show other cards of some stages."""
        changed = [name for name, card in cards.items() if self._cards.get(name) != card]
        self._cards.update(cards)
        boxes = [self._layout.boxes[name] for name in changed if name in self._layout.boxes]
        self._redraw({row for box in boxes for row in range(box.y, box.bottom)})

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

    def watch_selected(self, before: str | None, after: str | None) -> None:
        painter = self._get_painter()
        painter.select(after)
        self._redraw(painter.find_rows(before) | painter.find_rows(after))
        if after is not None:
            self.show_stage(after)

    def show_stage(self, stage: str) -> None:
        """Scroll as little as needed to show a stage."""
        box = self._layout.boxes.get(stage)
        if box is not None:
            edge = self._edge
            region = Region(box.x + edge.x, box.y + edge.y, box.width, box.height)
            self.scroll_to_region(region, spacing=Spacing(1, 12, 1, 4), animate=False, force=True)

    def fit(self) -> None:
        """Choose the largest zoom with which the whole drawing fits."""
        self._needs_fit = False
        self._set_zoom(self._find_fitting_zoom() or DOTS)
        self._show_selected()

    # -- drawing -------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width = self.size.width
        key = (y + top, left, width)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._render_row(*key)
        return strip

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
        self._painter_cache = None
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

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._clear_cache()

    def on_resize(self) -> None:
        self._strips.clear()
        if self._needs_fit and self._chart.nodes and self.size.width:
            self.call_after_refresh(self._show_start)

    # -- keys ------------------------------------------------------------------------------------

    def explain_no_effect(self, reason: str) -> None:
        """Called when a key has no effect; a subclass shows the reason."""

    def action_walk(self, direction: str) -> None:
        here = self.selected
        there = find_first(self._layout) if here is None else None
        if here is not None:
            there = find_neighbour(self._layout, self._chart, here, direction)
        if there is not None:
            self._choose(there)
        else:
            where = "" if here is None else f" {WORDS[direction]}"
            self.explain_no_effect(f"there is no stage{where}")

    def action_pan(self, x: int, y: int) -> None:
        before = self.scroll_offset
        after = (
            max(0, min(before.x + x, self.max_scroll_x)),
            max(0, min(before.y + y, self.max_scroll_y)),
        )
        if before == after:
            self.explain_no_effect("the drawing ends there")
        else:
            self.scroll_to(*after, animate=False, force=True)

    def action_zoom(self, step: int) -> None:
        self._needs_fit = False
        level = self._zoom.level + step
        if not 0 <= level <= DOTS.level:
            size = "largest" if step < 0 else "smallest"
            self.explain_no_effect(f"this is the {size} size of the drawing")
            return
        self._set_zoom(self._widen_to_fit(ZOOMS[level]) or ZOOMS[level].with_width(_USUAL))
        if not self._chart.nodes:
            self.explain_no_effect("there is no stage to draw")
        if self.selected is not None:
            self.show_stage(self.selected)

    def action_fit(self) -> None:
        before = self._layout.boxes, self.scroll_offset
        self.fit()
        if before == (self._layout.boxes, self.scroll_offset):
            self.explain_no_effect("the drawing has the size that fits best")

    def action_center(self) -> None:
        box = self._layout.boxes.get(self.selected or "")
        if box is None:
            self.explain_no_effect("no stage is selected")
            return
        size = self.scrollable_content_region.size
        x = box.x + self._edge.x + box.width // 2 - size.width // 2
        y = box.y + self._edge.y + box.height // 2 - size.height // 2
        after = max(0, min(x, self.max_scroll_x)), max(0, min(y, self.max_scroll_y))
        if self.scroll_offset == after:
            self.explain_no_effect("the drawing cannot be moved further that way")
        else:
            self.scroll_to(*after, animate=False, force=True)

    def action_open(self) -> None:
        if self.selected is not None:
            self.post_message(Canvas.Opened(self.selected))
        else:
            self.action_walk("right")

    def _show_start(self) -> None:
        """Show the whole drawing when it is readable then, else its start.

        Called for every size that the canvas gets, until the user chooses a zoom.
        """
        if not self._needs_fit:
            return
        zoom = self._find_fitting_zoom()
        if zoom is None or zoom is DOTS:
            zoom = NORMAL if self.size.width >= _ROOMY else SNUG.with_width(_USUAL)
        self._set_zoom(zoom)
        self._show_selected()

    @property
    def _is_whole(self) -> bool:
        """Whether the whole drawing is in view."""
        return self._fits(self._layout)

    def _fits(self, drawing: Layout) -> bool:
        return drawing.width <= self.size.width - 2 and drawing.height <= self.size.height

    def _find_fitting_zoom(self) -> Zoom | None:
        """Return the largest zoom with which the whole drawing fits; None when there is none."""
        return next((fitted for zoom in ZOOMS if (fitted := self._widen_to_fit(zoom))), None)

    def _widen_to_fit(self, zoom: Zoom) -> Zoom | None:
        """Return a zoom with stages as wide as names and canvas allow; None when it does not fit."""
        found = lay_out(self._chart, zoom)
        if not self._fits(found):
            return None
        columns = len({box.x for box in found.boxes.values()})
        space = (self.size.width - 2 - found.width) // columns if columns else 0
        wanted = max(
            NORMAL.width, *(cell_len(name) + _AROUND_NAME for name in self._chart.nodes), 0
        )
        return zoom.with_width(min(zoom.width + space, wanted))

    def _show_selected(self) -> None:
        if self.selected is not None:
            self.show_stage(self.selected)
        else:
            self.scroll_to(0, 0, animate=False)

    def _set_zoom(self, zoom: Zoom) -> None:
        if zoom != self._zoom:
            self._zoom = zoom
            self._lay_out()

    def _choose(self, stage: str | None) -> None:
        if stage != self.selected:
            self.selected = stage
            self.post_message(Canvas.Selected(stage))

    # -- the mouse ---------------------------------------------------------------------------------

    def find_stage_at(self, x: int, y: int) -> str | None:
        """Return the stage in a cell of the widget."""
        left, top = self.scroll_offset
        box = self._layout.find_box(x + left - self._edge.x, y + top - self._edge.y)
        return None if box is None else box.name

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button != 1:
            return
        self._drawn_from = self.find_stage_at(event.x, event.y)
        self._grip = (event.screen_x, event.screen_y)
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._grip is None:
            card = self._cards.get(self.find_stage_at(event.x, event.y) or "")
            self.tooltip = sanitize_for_terminal(card.remark) or None if card is not None else None
        if self._grip is None or self._drawn_from is not None:
            return
        x, y = self._grip
        self._grip = (event.screen_x, event.screen_y)
        self.scroll_relative(x - event.screen_x, y - event.screen_y, animate=False, force=True)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._grip is None:
            return
        self._grip = None
        self.release_mouse()
        source, self._drawn_from = self._drawn_from, None
        target = self.find_stage_at(event.x, event.y)
        if source is not None and target is not None and source != target:
            self.post_message(Canvas.Drawn(source, target))
        elif source is not None and source == target:
            self._choose(source)

    def on_click(self, event: events.Click) -> None:
        stage = self.find_stage_at(event.x, event.y)
        if event.chain == 2 and stage is not None:
            self.post_message(Canvas.Opened(stage))
