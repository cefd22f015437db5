"""A list as a small table: a row for each element, a line for each part of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Static

from localcdap.tui.inspector.properties.completion import PropertyAutoComplete
from localcdap.tui.inspector.properties.controls import Control, ValueInput
from localcdap.tui.inspector.properties.field_plan import (
    ElementForm,
    ElementPart,
    FieldContext,
    Row,
    format_rows,
    parse_rows,
)
from localcdap.tui.studio import get_studio


class Element(Horizontal):
    """One row."""

    DEFAULT_CSS = """
    Element { height: 1; padding-left: 2; }
    Element.-blamed { padding-left: 0; }
    Element ValueInput { width: 1fr; margin-right: 1; }
    Element .glyph { width: 2; color: $text-error; }
    """

    def __init__(self, form: ElementForm, row: Row, context: FieldContext) -> None:
        super().__init__()
        self._form = form
        self._known = context
        self._aid: PropertyAutoComplete | None = None
        self._lines = [
            ValueInput(cell, placeholder="" if any(row) else part.heading)
            for part, cell in zip(form.parts, row, strict=True)
        ]

    def compose(self) -> ComposeResult:
        yield from self._lines

    @property
    def row(self) -> Row:
        return tuple(line.value.strip() for line in self._lines)

    @property
    def lines(self) -> list[ValueInput]:
        return self._lines

    def part_of(self, line: ValueInput) -> ElementPart:
        return self._form.parts[self._lines.index(line)]

    def put(self, row: Row) -> None:
        for line, cell in zip(self._lines, row, strict=True):
            line.put(cell)

    def mark_failure(self, glyph: str) -> None:
        """Mark the row as wrong; an empty glyph takes the mark away."""
        shown = self.query(".glyph")
        self.set_class(bool(glyph), "-blamed")
        if glyph and not shown:
            self.mount(Static(glyph, classes="glyph"), before=0)
        elif not glyph:
            shown.remove()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        line = event.widget
        if not isinstance(line, ValueInput) or (self._aid is not None and self._aid.target is line):
            return
        self._drop_aid()
        part = self.part_of(line)
        self._aid = PropertyAutoComplete(
            line, self._known, lambda: self._known.list_suggestions(part)
        )
        self.screen.mount(self._aid)

    def on_unmount(self) -> None:
        self._drop_aid()

    def _drop_aid(self) -> None:
        if self._aid is not None and self._aid.is_attached:
            self._aid.remove()
        self._aid = None


class ListControl(Control):
    """The elements of a list; below the last one there is always an empty row.

    ``enter`` begins a row, ``backspace`` in an empty one removes it, ``alt+up`` and ``alt+down`` move it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("alt+up", "move(-1)", "move row up", show=False, id="field.row_up"),
        Binding("alt+down", "move(1)", "move row down", show=False, id="field.row_down"),
        Binding("ctrl+delete,alt+d", "remove", "remove row", show=False, id="field.remove_row"),
    ]
    DEFAULT_CSS = "ListControl { height: auto; }"
    is_literal = False

    def __init__(
        self, form: ElementForm, text: str, context: FieldContext, most: int | None = None
    ) -> None:
        super().__init__()
        self._form = form
        self._known = context
        self._most = most
        self._begin = parse_rows(form, text, most) or []

    def compose(self) -> ComposeResult:
        for row in self._add_empty_row(self._begin):
            yield self._create_element(row)

    @property
    def elements(self) -> list[Element]:
        return [each for each in self.children if isinstance(each, Element)]

    @property
    def value_text(self) -> str:
        elements = self.elements
        rows = [each.row for each in elements] if elements else self._begin
        return format_rows(self._form, rows)

    def put(self, text: str) -> None:
        rows = parse_rows(self._form, text, self._most)
        if rows is None or format_rows(self._form, rows) == self.value_text:
            return
        self._begin = rows
        elements = self.elements
        wanted = self._add_empty_row(rows)
        for element, row in zip(elements, wanted, strict=False):
            element.put(row)
        self.run_worker(self._fit(wanted), group="rows", exclusive=True)

    def take(self, text: str) -> None:
        line = self._find_focused_line()
        target = line[1] if line is not None else self.elements[-1].lines[0]
        target.insert_text_at_cursor(text)

    def show_failures(self, elements: Iterable[tuple[str, str]]) -> None:
        """Mark rows as wrong.

        :param elements: texts of elements, with the glyph of each.
        """
        glyphs = {_normalize(text): glyph for text, glyph in elements}
        for each in self.elements:
            each.mark_failure(glyphs.get(_normalize(self._form.format(each.row)), ""))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        elements = self.elements
        if len(elements) != self._most and any(elements[-1].row):
            self.mount(self._create_element(self._empty))
        self.post_change()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_add()

    def on_key(self, event: events.Key) -> None:
        found = self._find_focused_line()
        if event.key != "backspace" or found is None or any(found[0].row):
            return
        if found[0] is not self.elements[-1]:
            event.stop()
            self.action_remove()

    def action_add(self) -> None:
        """Begin a row below the one with the focus, or go on where that is empty."""
        found = self._find_focused_line()
        if found is None or not any(found[0].row):
            self.screen.focus_next()
            return
        elements = self.elements
        place = elements.index(found[0])
        if place + 1 < len(elements) and not any(elements[place + 1].row):
            elements[place + 1].lines[0].focus()
            return
        if len(elements) == self._most:
            self.screen.focus_next()
            return
        added = self._create_element(self._empty)
        self.mount(added, after=found[0])
        self.call_after_refresh(added.lines[0].focus)

    def action_remove(self) -> None:
        found, elements = self._find_focused_line(), self.elements
        if found is None or len(elements) < 2:
            get_studio(self).explain_no_effect("the list has no other row", "remove row")
            return
        place = elements.index(found[0])
        elements[place - 1 if place else 1].lines[0].focus()
        self.run_worker(self._remove_element(found[0]), group="rows")

    def action_move(self, by: int) -> None:
        found, elements = self._find_focused_line(), self.elements
        if found is None:
            return
        place = elements.index(found[0])
        other = place + by
        if 0 <= other < len(elements) - 1:
            below, above = (place, other) if by < 0 else (other, place)
            self.move_child(elements[below], before=elements[above])
            self.post_change()
        else:
            where = "above" if by < 0 else "below"
            get_studio(self).explain_no_effect(f"there is no row {where} to change places with")

    def _find_focused_line(self) -> tuple[Element, ValueInput] | None:
        for element in self.elements:
            for line in element.lines:
                if line.has_focus:
                    return element, line
        return None

    async def _remove_element(self, element: Element) -> None:
        await element.remove()
        self.post_change()

    async def _fit(self, rows: list[Row]) -> None:
        """Have as many rows as there are elements, and the empty one."""
        elements = self.elements
        await self.remove_children(elements[len(rows) :])
        # All at once: while the last row is not empty, one more is begun with what changes.
        await self.mount_all([self._create_element(row) for row in rows[len(elements) :]])

    def _create_element(self, row: Row) -> Element:
        return Element(self._form, row, self._known)

    def _add_empty_row(self, rows: list[Row]) -> list[Row]:
        """Return the rows, with an empty row at the end if more rows are allowed."""
        return rows if len(rows) == self._most else [*rows, self._empty]

    @property
    def _empty(self) -> Row:
        return ("",) * len(self._form.parts)


def _normalize(text: str) -> str:
    return "".join(text.split()).casefold()
