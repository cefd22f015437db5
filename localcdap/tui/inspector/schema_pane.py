"""The input and output schemas of a stage."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from localcdap.api.schema import Field, Schema, Type
from localcdap.pipeline.editing.stage_states import StageState
from localcdap.tui.schema_text import format_schema_type
from localcdap.tui.studio import StudioNode


class FieldMark(enum.Enum):
    """The change of a field; the value is its glyph."""

    SAME = " "
    ADDED = "+"
    CHANGED = "~"
    DROPPED = "-"


class SchemaRow(NamedTuple):
    """A field, or a part of one."""

    mark: FieldMark
    depth: int
    """0 for a field of the record, 1 for a field of a record in it, and so on."""
    name: str
    type: str
    is_nullable: bool
    was: str
    """The type of the input, where it was another one."""


def compare_fields(schema: Schema, before: Iterable[Schema] | None = None) -> list[SchemaRow]:
    """Return the rows of a schema's fields, each followed by the fields of its record.

    :param before: the input schemas, to mark what is different; None to mark nothing. A field counts as the
        same when it is the same in one of them; those that are in none of the output come last.
    """
    found: list[SchemaRow] = []
    given: dict[str, list[Schema]] = {}
    for each in before or ():
        for field in each:
            given.setdefault(field.name, []).append(field.schema)
    for field in schema:
        mark, was = _compare_fields(field, given) if before is not None else (FieldMark.SAME, "")
        found += _list_rows(field, 0, mark, was)
    for name, schemas in given.items():
        if schema.field(name) is None:
            found += _list_rows(Field(name, schemas[0]), 0, FieldMark.DROPPED, "")
    return found


def _compare_fields(field: Field, given: dict[str, list[Schema]]) -> tuple[FieldMark, str]:
    schemas = given.get(field.name)
    if not schemas:
        return FieldMark.ADDED, ""
    if field.schema in schemas:
        return FieldMark.SAME, ""
    return FieldMark.CHANGED, format_schema_type(schemas[0])


def _list_rows(field: Field, depth: int, mark: FieldMark, was: str) -> Iterator[SchemaRow]:
    inner = _find_element(field.schema.non_nullable)
    is_record = inner.type is Type.RECORD and inner.fields is not None
    type = (
        _format_record_type(field.schema)
        if is_record
        else format_schema_type(field.schema).removesuffix("?")
    )
    yield SchemaRow(mark, depth, field.name, type, field.schema.is_nullable, was)
    if is_record and mark is not FieldMark.DROPPED:
        for part in inner:
            yield from _list_rows(part, depth + 1, FieldMark.SAME, "")


def _find_element(schema: Schema) -> Schema:
    """Return the innermost element schema of an array; any other schema unchanged."""
    while schema.type is Type.ARRAY and schema.items is not None:
        schema = schema.items.non_nullable
    return schema


def _format_record_type(schema: Schema) -> str:
    """Return the type of a record, or of an array of records, without the fields."""
    inner = schema.non_nullable
    if inner.type is Type.ARRAY and inner.items is not None:
        return f"array<{_format_record_type(inner.items)}>"
    return f"record {inner.name}" if inner.name else "record"


class TextLines(ScrollView, can_focus=True):
    """A scrollable list of lines, of which only the visible ones are rendered."""

    DEFAULT_CSS = """
    TextLines { height: 1fr; scrollbar-size: 1 1; padding: 0; }
    """

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._texts: Sequence[Text] = ()

    @property
    def texts(self) -> Sequence[Text]:
        return self._texts

    def put(self, texts: Sequence[Text]) -> None:
        """Show other lines and keep the scroll position."""
        self._texts = texts
        self.virtual_size = Size(max((each.cell_len for each in texts), default=0), len(texts))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        scroll_x, scroll_y = self.scroll_offset
        place = scroll_y + y
        width = self.size.width
        if place >= len(self._texts):
            return Strip.blank(width, self.rich_style)
        segments = self._texts[place].render(self.app.console, end="")
        strip = Strip(segments).apply_style(self.rich_style)
        return strip.crop_extend(scroll_x, scroll_x + width, self.rich_style)


_BESIDE: Final = 76
"""The width in cells from which on input and output are shown side by side."""
_WIDEST: Final = 32
_STYLES: Final = {
    FieldMark.SAME: "",
    FieldMark.ADDED: "bold",
    FieldMark.CHANGED: "bold",
    FieldMark.DROPPED: "dim strike",
}
LEGEND: Final = "+ added   ~ changed   - not passed on   ? may be null"


class SchemaPane(StudioNode, Vertical):
    """Lists the fields of the input and output schemas, and marks added, changed and dropped fields."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "copy the output schema", id="schema.copy"),
    ]
    DEFAULT_CSS = """
    SchemaPane > Horizontal { height: 1fr; }
    SchemaPane > Horizontal > Vertical { width: 1fr; height: 1fr; padding: 0 1; }
    SchemaPane .title { height: 1; color: $text-muted; }
    SchemaPane .legend { height: 1; color: $text-muted; padding: 0 1; }
    SchemaPane.-narrow > Horizontal { layout: vertical; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._output: Schema | None = None

    def compose(self) -> ComposeResult:
        with Horizontal():
            with Vertical():
                yield Static("in", classes="title")
                yield TextLines(id="schema-in")
            with Vertical():
                yield Static("out", classes="title")
                yield TextLines(id="schema-out")
        yield Static(LEGEND, classes="legend")

    def put(self, state: StageState | None) -> None:
        """Show the schemas of a stage; no schemas for None."""
        given = state.input_schemas if state is not None else {}
        known = [schema for schema in given.values() if schema is not None]
        incoming: list[Text] = []
        for stage, schema in given.items():
            incoming += _render_schema(stage if len(given) > 1 else "", schema, None)
        self._output = state.output_schema if state is not None else None
        outgoing: list[Text] = []
        for title, schema in _list_outputs(state).items():
            outgoing += _render_schema(title, schema, known if given else None)
        self.query_one("#schema-in", TextLines).put(incoming or [Text("no input", "dim")])
        self.query_one("#schema-out", TextLines).put(outgoing or [Text("no output", "dim")])

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        is_unknown = action == "copy" and self._output is None
        return "the stage has no output schema" if is_unknown else None

    def action_copy(self) -> None:
        if self._output is not None:
            self.studio.copy_text(str(self._output), "schema")

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.width < _BESIDE, "-narrow")


def _list_outputs(state: StageState | None) -> Mapping[str, Schema | None]:
    """Return the output schemas by title; the title is empty for the output of a stage without ports.

    The schema of error records is left out when it is that of the input, as usual.
    """
    if state is None:
        return {}
    found: dict[str, Schema | None] = {}
    if state.output_schema is not None or not state.port_schemas:
        found[""] = state.output_schema
    for port, schema in state.port_schemas.items():
        found[f"port {port}"] = schema
    if state.error_schema is not None and state.error_schema not in state.input_schemas.values():
        found["errors"] = state.error_schema
    return found


def _render_schema(title: str, schema: Schema | None, before: list[Schema] | None) -> list[Text]:
    heading = [Text(title, "italic")] if title else []
    if schema is None:
        return [*heading, Text("not known", "dim")]
    listed = compare_fields(schema, before if title != "errors" else None)
    width = min(max((len(r.name) + 2 * r.depth for r in listed), default=0), _WIDEST)
    return [*heading, *(_line(row, width) for row in listed)]


def _line(row: SchemaRow, width: int) -> Text:
    style = _STYLES[row.mark]
    name = "  " * row.depth + row.name
    safe = name if name.isprintable() else ascii(name)
    text = Text.assemble(
        (f"{row.mark.value} ", style), (safe.ljust(width), style), "  ", no_wrap=True
    )
    text.append(
        row.type + ("?" if row.is_nullable else ""), "dim" if row.mark is FieldMark.DROPPED else ""
    )
    if row.was:
        text.append(f"  was {row.was}", "dim")
    return text
