"""The panes of a stage, one of which is looked at: its input and output schemas, documentation and
lineage.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Markdown, Static, TabbedContent, TabPane, Tabs

from localcdap.api.config import PluginProperty
from localcdap.api.lineage import find_dataset_name
from localcdap.api.schema import Field, Schema, Type
from localcdap.artifacts.model import PluginInfo
from localcdap.host.cdap import Cdap
from localcdap.metadata.lineage.impact_service import ImpactRequest
from localcdap.metadata.lineage.impact_text import describe_stage_field
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.document.values import as_properties
from localcdap.pipeline.editing.incremental_validator import StageState
from localcdap.pipeline.rules.graph import CONTROL, SINKS, SOURCES
from localcdap.tui.dialogs.dialog_screen import LinesDialog
from localcdap.tui.document.editor import Editor
from localcdap.tui.inspector.plugin_details import to_selector
from localcdap.tui.inspector.preview.debug_pane import DebugPane
from localcdap.tui.inspector.preview.sample_view import PreviewPane
from localcdap.tui.inspector.properties.field import PropertyField
from localcdap.tui.inspector.properties.field_plan import FieldContext
from localcdap.tui.inspector.properties.form import Form
from localcdap.tui.records.table import RecordTable
from localcdap.tui.routes import LineageTarget
from localcdap.tui.schema_text import format_schema_type
from localcdap.tui.studio import StudioNode, choose_field, get_studio


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


class DocumentationPane(StudioNode, VerticalScroll):
    """The plugin's own documentation, and a table of its fields."""

    DEFAULT_CSS = """
    DocumentationPane { height: 1fr; padding: 0 1; scrollbar-size: 1 1; }
    DocumentationPane Markdown { padding: 0; background: transparent; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._plugin: PluginInfo | None = None
        self._shown: PluginInfo | None = None

    def compose(self) -> ComposeResult:
        yield Markdown("")

    def show_plugin(self, plugin: PluginInfo | None) -> None:
        """Set the plugin whose documentation the pane shows."""
        self._plugin = plugin

    def show_documentation(self, namespace: str) -> None:
        """Show the documentation, when the pane becomes visible."""
        plugin = self._plugin
        if plugin is self._shown:
            return
        self._shown = plugin
        if plugin is None:
            self.query_one(Markdown).update("There is no plugin to read about.")
            return

        def ask(cdap: Cdap) -> str | None:
            exact = to_selector(plugin.artifact)
            return cdap.artifacts.read_documentation(namespace, plugin.type, plugin.name, exact)

        def take(text: str | None) -> None:
            if self._shown is plugin:
                self.query_one(Markdown).update(text or format_documentation(plugin))
                self.scroll_home(animate=False)

        self.call(ask, take, group="documentation")


def format_documentation(plugin: PluginInfo) -> str:
    """Documentation of a plugin that has none of its own: its description, and a table of its fields."""
    artifact = plugin.artifact
    capabilities = ", ".join(plugin.capabilities) or "none"
    place = f"A plugin of type `{plugin.type}` in `{artifact.name}` {artifact.version}."
    lines = [
        f"# {plugin.name}",
        "",
        plugin.description,
        "",
        f"{place} Capabilities: {capabilities}.",
        "",
    ]
    if plugin.properties:
        lines += ["| property | type | meaning |", "| --- | --- | --- |"]
        lines += [_row(each) for each in plugin.properties.values()]
    return "\n".join(lines)


def _row(declared: PluginProperty) -> str:
    type = declared.type + (", required" if declared.required else "")
    meaning = declared.description
    if declared.choices:
        meaning += f" One of {', '.join(declared.choices)}."
    if declared.default:
        meaning += f" Default: `{declared.default}`."
    if declared.macro_supported:
        meaning += " Macros."
    if declared.addition:
        meaning += f" Data Fusion has no such property: {declared.addition}"
    return f"| `{_cell(declared.name)}` | {type} | {_cell(meaning)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


class InspectorTabs(StudioNode, TabbedContent):
    """Each pane has the id ``tab-`` and its name: properties, schema, docs, try, preview."""

    DEFAULT_CSS = """
    InspectorTabs { height: 1fr; }
    InspectorTabs Tabs { height: 1; }
    InspectorTabs Underline { display: none; }
    InspectorTabs TabPane { padding: 0; height: 1fr; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("W", "lineage", "lineage of a field", id="stage.lineage", show=False),
    ]

    def __init__(self, editor: Editor, known: FieldContext) -> None:
        super().__init__(id="inspector-tabs")
        self._editor = editor
        self._stage: str | None = None
        self._state: StageState | None = None
        self.form: Final = Form(editor, known)
        self.documentation: Final = DocumentationPane()
        self.preview: Final = PreviewPane(editor)
        self.debug: Final = DebugPane(editor, known, self.preview)
        self._schema = SchemaPane()
        panes = (
            TabPane("properties", self.form, id="tab-properties"),
            TabPane("schema", self._schema, id="tab-schema"),
            TabPane("docs", self.documentation, id="tab-docs"),
            TabPane("try it", self.debug, id="tab-try"),
            TabPane("preview data", self.preview, id="tab-preview"),
        )
        for pane in panes:
            self.compose_add_child(pane)

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        if action != "lineage":
            return None
        use = self._editor.get_stage(self._stage) if self._stage is not None else None
        return explain_no_dataset(use, self._editor)

    @work
    async def action_lineage(self) -> None:
        """Show the lineage of the column under the cursor, else of a field that the user chooses."""
        studio, stage = get_studio(self), self._stage
        if stage is None:
            return
        dataset = find_dataset(self._editor.get_properties(stage))
        focused = self.screen.focused
        tables = (
            [e for e in focused.ancestors_with_self if isinstance(e, RecordTable)]
            if focused
            else []
        )
        column = tables[0].column if tables else None
        field = column or await choose_field(studio, list_fields(self._state))
        if field is None:
            return
        use = self._editor.get_stage(stage)
        is_end = use is not None and use.plugin.type in SOURCES | SINKS
        if dataset is not None and is_end:
            studio.navigate(LineageTarget(dataset, field or None, self._editor.namespace))
        elif field:
            await self._show_design(stage, field)

    async def _show_design(self, stage: str, field: str) -> None:
        """Show from which datasets a field of a stage comes, and where it goes, in the pipeline as it is."""
        request = ImpactRequest(self._editor.to_text(), self._editor.namespace)
        found = await self.call_and_wait(
            lambda cdap: cdap.impact.trace_field(request, stage, field)
        )
        parts = describe_stage_field(found, self._editor.namespace)
        await self.app.push_screen_wait(LinesDialog(f"{field} of {stage}", parts))

    @property
    def open(self) -> str:
        """The name of the pane that is looked at."""
        return self.active.removeprefix("tab-")

    @property
    def tab_row(self) -> Tabs:
        """The tabs themselves."""
        return self.query_one(Tabs)

    def open_pane(self, name: str) -> None:
        """Open a pane; the keys, when they go to another one, go to the row of tabs."""
        if self.open != name:
            active = self.active_pane
            if active is not None and active.has_focus_within:
                self.tab_row.focus()
            self.active = f"tab-{name}"

    def open_next(self, by: int) -> None:
        """Open the next pane, or one before; after the last comes the first."""
        names = [(pane.id or "").removeprefix("tab-") for pane in self.query(TabPane)]
        self.open_pane(names[(names.index(self.open) + by) % len(names)])

    def focus_content(self) -> None:
        """Have the keys go to what is wrong in the open pane, or else to what is first there.

        They go to the row of tabs when nothing there takes keys.
        """
        pane = self.active_pane
        chain = [each for each in self.screen.focus_chain if pane in each.ancestors]
        wrong = [each for each in chain if any(map(_is_wrong, each.ancestors))]
        next(iter(wrong or chain), self.tab_row).focus()

    def show(self, stage: str | None, state: StageState | None) -> None:
        """Have the pane that is looked at show a stage; the others wait until they are."""
        self._stage, self._state = stage, state
        match self.open:
            case "schema":
                self._schema.put(state)
            case "docs":
                self.documentation.show_documentation(self._editor.namespace)
            case "try":
                self.debug.show_stage(stage)
            case "preview":
                self.preview.show_stage(stage)
                self.preview.find_newest()


def _is_wrong(node: object) -> bool:
    return isinstance(node, PropertyField) and bool(node.failures)


def find_dataset(properties: Mapping[str, Any]) -> str | None:
    """Return the dataset that the properties of a source or sink name; None when they name none."""
    given = as_properties(properties).items()
    return find_dataset_name({key: text for key, text in given if text is not None})


def explain_no_dataset(use: StageUse | None, editor: Editor) -> str | None:
    """Return why the lineage of the fields of a stage is not known; None when it is."""
    if use is None:
        return "no stage is selected"
    if use.plugin.type in CONTROL:
        return f"{use.name} handles no records"
    if use.plugin.type not in SOURCES | SINKS:
        return None  # within the pipeline as it is designed
    dataset = find_dataset(editor.get_properties(use.name))
    if dataset is None:
        return f"{use.name} has no reference name and no table"
    return f"the dataset of {use.name} is known in a run only" if "${" in dataset else None


def list_fields(state: StageState | None) -> list[str]:
    """Return the fields of what a stage gives, or of what a sink takes."""
    if state is None:
        return []
    given = [state.output_schema] if state.output_schema is not None else []
    schemas = given or [each for each in state.input_schemas.values() if each is not None]
    return list(dict.fromkeys(field.name for schema in schemas for field in schema))
