"""The canvas: a pipeline as a graph with a selected stage, scrolling and zoom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Spacing
from textual.message import Message

from localcdap.text import sanitize_for_terminal
from localcdap.tui.canvas.chart import DOTS, NORMAL, SNUG, ZOOMS, Chart, Zoom
from localcdap.tui.canvas.drawing_view import DrawingView
from localcdap.tui.canvas.layout import Box, Layout, lay_out

STEPS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}

WORDS = {"left": "to the left", "right": "to the right", "up": "above", "down": "below"}


def find_first(layout: Layout) -> str | None:
    """Return the stage to start with: the leftmost stage of the top row."""
    best = min(layout.boxes.values(), key=lambda box: (box.x, box.y), default=None)
    return None if best is None else best.name


def find_neighbour(layout: Layout, chart: Chart, name: str, direction: str) -> str | None:
    """Return the next stage in a direction: along a connection, else the nearest. None at the end.

    :param direction: ``left``, ``right``, ``up`` or ``down``.
    """
    here = layout.boxes.get(name)
    if here is None:
        return find_first(layout)
    dx, dy = STEPS[direction]
    ahead = [box for box in layout.boxes.values() if _is_ahead(here, box, dx, dy)]
    if dx:
        linked = set(_list_linked(chart, name))
        ahead = [box for box in ahead if box.name in linked] or ahead
    best = min(ahead, key=lambda box: _distance(here, box, dx), default=None)
    return None if best is None else best.name


def _is_ahead(here: Box, box: Box, dx: int, dy: int) -> bool:
    if dx:
        return (box.x - here.x) * dx > 0
    return (box.y - here.y) * dy > 0


def _distance(here: Box, box: Box, dx: int) -> tuple[int, int, int]:
    across, down = abs(box.x - here.x), abs(box.enters - here.enters)
    # A cell is about twice as high as wide. A distance across the direction counts more than along it.
    far = across + 6 * down if dx else 2 * down + 3 * across
    return far, box.y, box.x


def _list_linked(chart: Chart, name: str) -> Iterable[str]:
    for link in chart.links:
        if link.source == name:
            yield link.target
        elif link.target == name:
            yield link.source


_ROOMY: Final = 100
"""Columns of a canvas that starts with the largest zoom when the drawing does not fit."""
_USUAL: Final = 20
"""The width of boxes when the drawing does not fit."""
_AROUND_NAME: Final = 4
"""Cells of a box besides the name."""


class Canvas(DrawingView, can_focus=True):
    """A drawing with keys: it selects stages, and changes what is in view."""

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
        Binding("M", "minimap", "overview", id="canvas.minimap", show=False),
        Binding("enter", "open", "open stage", id="canvas.open", show=False),
    ]

    noun = "stage"
    """What a node of the graph is, in the reasons why a key has no effect."""

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
        self._grip: tuple[int, int] | None = None
        """Where the mouse button was pressed or last moved."""
        self._drawn_from: str | None = None
        self._needs_fit = True

    # -- content ---------------------------------------------------------------------------

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

    def on_resize(self) -> None:
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
            self.explain_no_effect(f"there is no {self.noun}{where}")

    def action_pan(self, x: int, y: int) -> None:
        before = self.scroll_offset
        after = (
            max(0, min(before.x + x, self.max_scroll_x)),
            max(0, min(before.y + y, self.max_scroll_y)),
        )
        if before == after:
            self.explain_no_effect("the drawing ends there")
        else:
            self._needs_fit = False
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
            self.explain_no_effect(f"there is no {self.noun} to draw")
        if self.selected is not None:
            self.show_stage(self.selected)

    def action_fit(self) -> None:
        before = self._layout.boxes, self.scroll_offset
        self.fit()
        if before == (self._layout.boxes, self.scroll_offset):
            self.explain_no_effect("the drawing has the size that fits best")

    def action_minimap(self) -> None:
        """Show or hide the overview."""
        if self._is_whole:
            self.explain_no_effect("the whole drawing is in view")
            return
        self._wants_minimap = not self._wants_minimap
        if self._wants_minimap and self._minimap is None:
            self.explain_no_effect("the canvas is too small for it")
        self.refresh()

    def action_center(self) -> None:
        box = self._layout.boxes.get(self.selected or "")
        if box is None:
            self.explain_no_effect(f"no {self.noun} is selected")
            return
        if not self._center_on(box.x + box.width // 2, box.y + box.height // 2):
            self.explain_no_effect("the drawing cannot be moved further that way")

    def _center_on(self, x: int, y: int) -> bool:
        """Scroll so that a cell of the drawing is in the middle, if possible; False when it is there."""
        size, edge = self.scrollable_content_region.size, self._edge
        x, y = x + edge.x - size.width // 2, y + edge.y - size.height // 2
        after = max(0, min(x, self.max_scroll_x)), max(0, min(y, self.max_scroll_y))
        if self.scroll_offset == after:
            return False
        self._needs_fit = False
        self.scroll_to(*after, animate=False, force=True)
        return True

    def action_open(self) -> None:
        if self.selected is not None:
            self.post_message(Canvas.Opened(self.selected))
        else:
            self.action_walk("right")

    def _show_start(self) -> None:
        """Show the whole drawing when it is readable then, else its start.

        Called for every size that the canvas gets, until the user chooses a zoom or another part of it.
        """
        if not self._needs_fit:
            return
        zoom = self._find_fitting_zoom()
        if zoom is None or zoom is DOTS:
            zoom = NORMAL if self.size.width >= _ROOMY else SNUG.with_width(_USUAL)
        if zoom != self._zoom or self.selected is not None:  # a notice below resizes the canvas too
            self._set_zoom(zoom)
            self._show_selected()

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
        place = self._minimap.find_place(event.x, event.y) if self._minimap is not None else None
        if place is not None:
            self._center_on(place.x, place.y)
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
