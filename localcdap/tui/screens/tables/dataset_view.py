"""What a dataset is: its type, properties, place, schema, and the pipelines that use it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localcdap.api.dataset.schema_evolution import format_field_type
from localcdap.api.errors import LocalcdapError
from localcdap.datasets.model import DatasetDetail
from localcdap.host.cdap import Cdap
from localcdap.metadata.lineage.usage import DatasetUsage
from localcdap.text import format_time, plural, sanitize_for_terminal
from localcdap.tui.studio import StudioNode

_NOT_A_DATASET = "This is not a dataset: views and the tables of system applications have no type."


class _Shown(msgspec.Struct, frozen=True):
    detail: DatasetDetail
    usage: list[DatasetUsage]


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
        return _Shown(detail, cdap.datasets.list_usage(namespace, name))
    except LocalcdapError:
        return None


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
    }
    lines += _format_pairs((name, value) for name, value in facts.items() if value)
    given = {name: value for name, value in sorted(detail.properties.items()) if name != "schema"}
    lines += _format_section("properties", given.items())
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
