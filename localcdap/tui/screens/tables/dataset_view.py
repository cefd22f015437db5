"""What a dataset is: its type, properties, place and schema, who uses it, and what was done with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localcdap.api.dataset.schema_evolution import format_field_type
from localcdap.api.errors import LocalcdapError
from localcdap.api.metadata import MetadataEntity
from localcdap.datasets.model import DatasetDetail
from localcdap.datasets.sql import SqlRequest
from localcdap.host.cdap import Cdap
from localcdap.metadata.audit import AuditMessage, AuditQuery
from localcdap.metadata.lineage.relations import DatasetUsage
from localcdap.text import format_size, format_time, plural, sanitize_for_terminal
from localcdap.tui.screens.tables.completion import quote_where_needed
from localcdap.tui.studio import StudioNode

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
