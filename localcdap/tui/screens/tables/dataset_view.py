"""A dataset: type, properties, place, schema, uses and history, and the dialog that changes it.

The dialog shows what a change of the schema or of the properties does before it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static, TextArea

from localcdap.api.dataset.definition import DatasetChange
from localcdap.api.dataset.schema_evolution import ChangeKind, find_field_changes, format_field_type
from localcdap.api.dataset.specification import SCHEMA
from localcdap.api.errors import ConflictError, IncompatibleUpdateError, LocalcdapError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.schema import Schema
from localcdap.datasets.model import DatasetDetail, DatasetUpdate
from localcdap.datasets.sql import SqlRequest
from localcdap.host.cdap import Cdap
from localcdap.metadata.audit import AuditMessage, AuditQuery
from localcdap.metadata.lineage.impact_text import describe_reader
from localcdap.metadata.lineage.relations import AccessType, DatasetUsage
from localcdap.text import format_size, format_time, plural, sanitize_for_terminal
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.dialogs.metadata import format_properties, parse_properties
from localcdap.tui.labels import sanitize_name
from localcdap.tui.schema_text import EXAMPLE, SchemaSyntaxError, format_schema, parse_schema
from localcdap.tui.screens.tables.editor import quote_where_needed
from localcdap.tui.studio import Debouncer, StudioNode

_MOST_PARTITIONS: Final = 20
_MOST_MESSAGES: Final = 10
_NOT_A_DATASET = "This is not a dataset: views and the tables of system applications have no type."


class _Shown(msgspec.Struct, frozen=True):
    detail: DatasetDetail
    usage: list[DatasetUsage]
    partitions: list[tuple[str, str]] = []
    """The key and the folder of the first partitions."""
    audit: list[AuditMessage] = []
    """The newest messages."""


class DatasetView(StudioNode, VerticalScroll):
    """Shows one dataset."""

    DEFAULT_CSS = "DatasetView > Static { padding: 0 1; height: auto; }"

    def compose(self) -> ComposeResult:
        yield Static(id="dataset", markup=False)

    def show(self, namespace: str, name: str | None) -> None:
        """Show a dataset; None when nothing or something else is highlighted."""
        if name is None:
            self.discard_results("dataset")
            self.query_one("#dataset", Static).update(_NOT_A_DATASET)
            return
        self.call(
            lambda cdap: _read(cdap, namespace, name), on_result=self._show_result, group="dataset"
        )

    def _show_result(self, shown: _Shown | None) -> None:
        text = Content(_NOT_A_DATASET) if shown is None else _format(shown)
        self.query_one("#dataset", Static).update(text)


def _read(cdap: Cdap, namespace: str, name: str) -> _Shown | None:
    try:
        detail = cdap.datasets.describe(namespace, name)
        usage = cdap.datasets.list_usage(namespace, name)
        query = AuditQuery(MetadataEntity.of_dataset(name, namespace), limit=_MOST_MESSAGES)
        return _Shown(
            detail, usage, _read_partitions(cdap, detail), cdap.audit.list_messages(query)
        )
    except LocalcdapError:
        return None


def _read_partitions(cdap: Cdap, detail: DatasetDetail) -> list[tuple[str, str]]:
    table = f"{detail.name}.partitions"
    if table not in detail.tables:
        return []
    query = (
        f'SELECT * EXCLUDE ("$metadata", "$created") FROM {quote_where_needed(table)} ORDER BY ALL'  # noqa: S608 - quoted
    )
    request = SqlRequest(query, detail.namespace, limit=_MOST_PARTITIONS)
    rows = cdap.sql.query(request).to_table().to_pylist()
    return [
        (" ".join(f"{key}={value}" for key, value in row.items() if key != "$path"), row["$path"])
        for row in rows
    ]


def _format(shown: _Shown) -> Content:
    detail = shown.detail
    title = Content.assemble(Content.styled(detail.name, "bold"), f"  {detail.type}")
    lines = [title, Content(sanitize_for_terminal(detail.description or ""))]
    if detail.problem is not None:
        lines.append(Content.styled(detail.problem, "$text-error"))
    facts = {
        "owner": detail.principal,
        "created": format_time(detail.created),
        "updated": format_time(detail.updated),
        "tables": ", ".join(detail.tables),
        "rows": None if detail.rows is None else f"{detail.rows:,}",
        "folder": detail.folder,
        "files": None
        if detail.files is None
        else f"{detail.files:,} ({format_size(detail.bytes or 0)})",
    }
    lines += _format_pairs((name, value) for name, value in facts.items() if value)
    given = {name: value for name, value in sorted(detail.properties.items()) if name != "schema"}
    lines += _format_section("properties", given.items())
    heading = f"partitions, {len(shown.partitions)} of {detail.rows or 0:,}"
    lines += _format_section(heading, shown.partitions)
    fields = detail.schema or ()
    lines += _format_section(
        "schema", ((each.name, format_field_type(each.schema)) for each in fields)
    )
    lines += _format_section(
        "used by",
        (
            (each.program.application, f"{each.access}, {plural(each.runs, 'run')}")
            for each in shown.usage
        ),
    )
    lines += _format_section(
        "audit",
        (
            (format_time(each.time), " ".join([each.user, each.type, *each.describe()]))
            for each in shown.audit
        ),
    )
    return Content("\n").join(lines)


def _format_section(heading: str, pairs: Iterable[tuple[str, str]]) -> list[Content]:
    lines = _format_pairs(pairs)
    return [Content(""), Content.styled(heading, "$text-accent"), *lines] if lines else []


def _format_pairs(pairs: Iterable[tuple[str, str]]) -> list[Content]:
    listed = [(sanitize_for_terminal(name), sanitize_for_terminal(value)) for name, value in pairs]
    width = max((len(name) for name, _ in listed), default=0)
    return [
        Content.assemble(f"{name:<{width}}  ", Content.styled(value, "$foreground 60%"))
        for name, value in listed
    ]


_PAUSE_S: Final = 0.15
"""How long the user pauses before a change is checked."""


class DatasetAnswer(msgspec.Struct, frozen=True):
    """What a change of a dataset would do."""

    change: DatasetChange | None
    """None when it is refused."""
    problems: list[str] = []
    """Why it is refused."""
    users: list[str] = []
    """The pipelines that read or write the dataset, each with how."""
    readers: list[str] = []
    """What depends on the fields that the change drops or whose type it changes."""


class DatasetDialog(DialogScreen[bool]):
    """Changes a dataset. The answer is True when it was changed.

    The schema has one field a line; everything is checked while the user types.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "save", id="dataset.save", priority=True),
    ]
    DEFAULT_CSS = """
    DatasetDialog > #dialog { width: 96; height: 34; max-height: 92%; }
    DatasetDialog .label { height: 1; color: $text-muted; margin-top: 1; }
    DatasetDialog TextArea { height: 2fr; background: $panel; }
    DatasetDialog TextArea:blur { border: tall $panel; }
    DatasetDialog #dataset-properties { height: 1fr; }
    DatasetDialog VerticalScroll { height: 1fr; min-height: 4; margin-top: 1; }
    DatasetDialog #dataset-effect { height: auto; }
    """
    HAS_FOOTER = True

    def __init__(self, detail: DatasetDetail) -> None:
        super().__init__()
        self._detail: Final = detail
        given = dict(detail.properties)
        given.pop(SCHEMA, None)
        self._properties_text: Final = format_properties(dict(sorted(given.items())))
        self._schema_text: Final = "" if detail.schema is None else format_schema(detail.schema)
        self._checking = Debouncer(self, self._check, _PAUSE_S)

    def compose_body(self) -> ComposeResult:
        detail = self._detail
        name = sanitize_name(f"{detail.name}  {detail.type}")
        yield Static(Content(f"Change dataset {name}"), id="dialog-title")
        is_fixed = detail.schema is not None and SCHEMA not in detail.properties
        label = "schema: that of the type" if is_fixed else f"schema: {EXAMPLE}"
        yield Static(Content(label), classes="label")
        yield TextArea(
            self._schema_text, tab_behavior="focus", id="dataset-schema", read_only=is_fixed
        )
        yield Static("properties: one name=value a line", classes="label")
        yield TextArea(self._properties_text, tab_behavior="focus", id="dataset-properties")
        with VerticalScroll(can_focus=False):
            yield Static(id="dataset-effect")

    def on_mount(self) -> None:
        self._check()

    def on_unmount(self) -> None:
        self._checking.cancel()

    @on(TextArea.Changed)
    def _check_soon(self, event: TextArea.Changed) -> None:
        event.stop()
        self._checking.schedule()

    def action_save(self) -> None:
        """Change the dataset, unless nothing has changed or something is wrong."""
        self._checking.cancel()
        problems: list[str] = []
        update = self._build_update(problems)
        if update is None:
            self._show(DatasetAnswer(None, problems))
            return
        before = self._detail.updated
        self.call(
            lambda cdap: _save(cdap, update, before),
            on_result=lambda change: self.dismiss(not change.is_empty),
            on_error=lambda error: self._show(DatasetAnswer(None, _list_reasons(error))),
            group="dataset-change",
            ordered=True,
        )

    def _check(self) -> None:
        problems: list[str] = []
        update = self._build_update(problems)
        if update is None:
            self.discard_results("dataset-change")
            self._show(DatasetAnswer(None, problems))
            return
        schema = self._detail.schema
        self.call(
            lambda cdap: _assess(cdap, update, schema), on_result=self._show, group="dataset-change"
        )

    def _build_update(self, problems: list[str]) -> DatasetUpdate | None:
        """Return the update; None when a line is wrong.

        :param problems: gets what is wrong with the lines.
        """
        detail = self._detail
        properties = parse_properties(
            self.query_one("#dataset-properties", TextArea).text, problems
        )
        if SCHEMA in properties:
            problems.append("The schema is written in its own lines.")
        text = self.query_one("#dataset-schema", TextArea).text
        name = detail.schema.name if detail.schema is not None else None
        try:
            schema = parse_schema(text, name or "record")
        except SchemaSyntaxError as error:
            problems += [f"Schema, line {each.line}: {each.message}" for each in error.problems]
            return None
        if problems:
            return None
        if text == self._schema_text:
            # The text of a schema has no documentation and no defaults: what was given stays as it is.
            given = detail.properties.get(SCHEMA)
            properties |= {} if given is None else {SCHEMA: given}
        elif schema is not None:
            properties[SCHEMA] = str(schema)
        return DatasetUpdate(detail.name, properties, detail.namespace)

    def _show(self, answer: DatasetAnswer) -> None:
        lines = [Content.styled(each, "$text-error") for each in _clean(answer.problems)]
        if answer.change is not None:
            lines += map(Content, _clean(_describe(answer.change)))
        for title, found in (
            ("depends on these fields", answer.readers),
            ("used by", answer.users),
        ):
            if found:
                lines.append(Content.styled(title, "$text-accent"))
                lines += [Content(f"  {each}") for each in _clean(found)]
        self.query_one("#dataset-effect", Static).update(Content("\n").join(lines))


def _assess(cdap: Cdap, update: DatasetUpdate, before: Schema | None) -> DatasetAnswer:
    """Return what an update would do, also what depends on the fields that it would break.

    :param before: the schema that the dataset has.
    """
    changed = _list_changed_fields(before, update)
    found = cdap.impact.find_readers(update.namespace, update.name, changed) if changed else []
    readers = list(map(describe_reader, found))
    try:
        change = cdap.datasets.check_update(update)
    except LocalcdapError as error:
        return DatasetAnswer(None, _list_reasons(error), readers=readers)
    usage = cdap.datasets.list_usage(update.namespace, update.name) if change.fields else []
    users = [f"{each.program.application}  {_describe_access(each.access)}" for each in usage]
    return DatasetAnswer(change, users=users, readers=readers)


def _list_changed_fields(before: Schema | None, update: DatasetUpdate) -> list[str]:
    """Return the fields that the update drops, or whose type it changes."""
    given = (update.properties or {}).get(SCHEMA)
    if before is None or given is None:
        return []
    after = Schema.parse(given)
    return [
        each.field
        for each in find_field_changes(before, after)
        if each.kind not in (ChangeKind.ADDED, ChangeKind.RELAXED)
    ]


def _save(cdap: Cdap, update: DatasetUpdate, before: int) -> DatasetChange:
    """Update the dataset.

    :param before: when the dataset that the user sees was changed last.
    :raises ConflictError: when it has been changed since.
    """
    if cdap.datasets.describe(update.namespace, update.name).updated != before:
        raise ConflictError(
            f"Dataset '{update.name}' has changed since it was opened.",
            "Close this and open it again.",
        )
    return cdap.datasets.update(update)


def _list_reasons(error: LocalcdapError) -> list[str]:
    reasons = error.reasons if isinstance(error, IncompatibleUpdateError) else [error.message]
    return [*reasons, error.corrective_action] if error.corrective_action else list(reasons)


def _describe(change: DatasetChange) -> Iterator[str]:
    if change.is_empty:
        yield "Nothing has changed."
        return
    yield f"{change.name} {change.describe()}" if change.describe() else "The schema changes."
    yield from change.warnings


def _describe_access(access: AccessType) -> str:
    return {AccessType.READ: "reads it", AccessType.WRITE: "writes it"}.get(access, "uses it")


def _clean(texts: list[str] | Iterator[str]) -> list[str]:
    return [sanitize_for_terminal(each) for each in texts]
