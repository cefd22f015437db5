"""The dialog that changes the schema and the properties of a dataset, and shows before what that does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static, TextArea

from localcdap.api.dataset.declaration import DatasetChange
from localcdap.api.dataset.schema_evolution import ChangeKind, find_field_changes
from localcdap.api.dataset.specification import SCHEMA
from localcdap.api.errors import ConflictError, IncompatibleUpdateError, LocalcdapError
from localcdap.api.schema import Schema
from localcdap.datasets.model import DatasetDetail, DatasetUpdate
from localcdap.host.cdap import Cdap
from localcdap.metadata.lineage.impact_text import describe_reader
from localcdap.metadata.lineage.relations import AccessType
from localcdap.text import sanitize_for_terminal
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.dialogs.metadata import format_properties, parse_properties
from localcdap.tui.labels import sanitize_name
from localcdap.tui.schema_text import EXAMPLE, SchemaSyntaxError, format_schema, parse_schema
from localcdap.tui.studio import Debouncer

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
