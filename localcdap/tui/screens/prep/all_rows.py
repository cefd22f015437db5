"""The recipe on all rows of a file: its progress, and what the sample did not show of them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import ProgressBar, Static

from localcdap.api.errors import LocalcdapError
from localcdap.connectors.all_records import ConnectionData, RecordCopier
from localcdap.datasets.file_tables import copy_table
from localcdap.decoders import convert
from localcdap.expectations.results import RuleResult, describe_result
from localcdap.expectations.rules import RuleAction, to_json
from localcdap.host.cdap import Cdap
from localcdap.pipeline.method_calls import apply_recipe
from localcdap.text import plural, sanitize_for_terminal
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.labels import MUTED, sanitize_name
from localcdap.tui.screens.prep.exports import find_reader
from localcdap.tui.screens.prep.source import FILE_OPTIONS, PrepRequest, read_view
from localcdap.tui.service_calls import deliver
from localcdap.workspace_views import ColumnTotals, ColumnView


@contextlib.contextmanager
def open_all_rows(
    cdap: Cdap,
    request: PrepRequest,
    is_stopped: Callable[[], bool],
    show: Callable[[float | None], None],
) -> Iterator[dict[str, Any]]:
    """Give the input of the method ``apply`` of Wrangler. Other data than files become a file that is
    deleted afterwards.

    :param is_stopped: whether nobody waits for it any more; no more is read then.
    :param show: takes the share that is copied.
    :raises BadRequestError: when the data cannot be read.
    """
    source = request.source
    copier = RecordCopier(cdap.connectors, cdap.runs, is_stopped, show)
    data = ConnectionData(request.namespace, source.connection, source.place, source.reading)
    path = source.path
    if source.connection and source.types is None:
        path = copier.find_file(data)
    if path:
        yield {"path": path, **{name: getattr(source, name) for name in FILE_OPTIONS}}
        return
    with tempfile.TemporaryDirectory(prefix="localcdap-") as folder:
        rows = Path(folder) / "rows.parquet"
        if source.connection:
            before = read_view(cdap, replace(request, step=0))
            reader = find_reader(cdap, request, before)
            copier.copy(data, reader, request.arguments, rows)
        else:
            copy_table(cdap.sql, request.namespace, source.table, rows, is_stopped)
        yield {"path": str(rows), "format": "parquet"}


_NOTABLE: Final = 0.01
"""The difference of two shares from which on it is worth a line."""
_MANY_MORE: Final = 2
"""How many times as many different values are worth a line."""


class AllRowsDialog(DialogScreen[dict[str, Any]]):
    """Applies a recipe to all rows; ``escape`` stops it, and nothing is written then.

    The answer is the last progress, None when it was stopped or has failed.

    :param output: the file of the result; None to count only.
    :param sample: the columns of the sample after the recipe, with which all rows are compared.
    """

    DEFAULT_CSS = """
    AllRowsDialog {
        & > #dialog { width: 100; }
        & #all-rows-bar { height: 1; margin-bottom: 1; width: 1fr; }
        & #all-rows-bar Bar { width: 1fr; }
        & #all-rows-counts { height: auto; }
        & #all-rows-scroll { height: auto; max-height: 16; margin-top: 1; }
        & #all-rows-columns { height: auto; }
        & #dialog-keys { margin-top: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "close", "close", id="prep.close_run", show=False)
    ]

    def __init__(
        self, request: PrepRequest, output: Path | None, sample: Sequence[ColumnView]
    ) -> None:
        super().__init__()
        self._request = request
        self._output = output
        self._sample = sample
        self._is_stopped = False
        self._last: dict[str, Any] | None = None

    def compose_body(self) -> ComposeResult:
        name = sanitize_for_terminal(self._request.source.name)
        what = "counted" if self._output is None else f"written to {self._output}"
        yield Static(f"All rows of {name}, {what}", id="dialog-title", markup=False)
        yield ProgressBar(total=1.0, show_eta=False, id="all-rows-bar")
        yield Static("", id="all-rows-counts", markup=False)
        with VerticalScroll(id="all-rows-scroll"):
            yield Static("", id="all-rows-columns")
        yield Static("esc stops it; nothing is written then", id="dialog-keys")

    def on_mount(self) -> None:
        self.call(self._run, self._show_end, on_error=self.show_error)

    def on_unmount(self) -> None:
        self._is_stopped = True

    def action_dismiss_empty(self) -> None:
        self._is_stopped = True
        self.dismiss(self._last)

    def action_close(self) -> None:
        if self._last is not None:
            self.dismiss(self._last)

    def _run(self, cdap: Cdap) -> dict[str, Any] | None:
        """Apply the recipe, in a thread; None when it was stopped."""
        rules = list(self._request.rules)
        if self._output is None:  # what makes a result fail is only counted where there is none
            rules = [
                msgspec.structs.replace(each, action=RuleAction.COUNT, allowed_percent=0)
                for each in rules
            ]
        task: dict[str, Any] = {
            "output": None if self._output is None else str(self._output),
            "skips_failures": True,
            "counts": True,
            "expectations": to_json(rules),
        }
        request = self._request
        recipe = "\n".join(request.directives)
        with contextlib.ExitStack() as stack:
            task["input"] = stack.enter_context(
                open_all_rows(cdap, request, lambda: self._is_stopped, self._deliver_copied)
            )
            if self._is_stopped:
                return None
            job = apply_recipe(cdap.methods, recipe, task, request.namespace, request.arguments)
            for progress in stack.enter_context(contextlib.closing(job)):
                if self._is_stopped or progress["is_done"]:
                    return None if self._is_stopped else progress
                deliver(self, partial(self._show_progress, progress))
        return None

    def _deliver_copied(self, share: float | None) -> None:
        deliver(self, partial(self._show_copied, share))

    def _show_copied(self, share: float | None) -> None:
        """Show which share of the records behind a connection is copied."""
        self.query_one(ProgressBar).update(progress=share or 0.0)
        self.query_one("#all-rows-counts", Static).update("The records are copied …")

    def _show_progress(self, progress: dict[str, Any]) -> None:
        self.query_one(ProgressBar).update(progress=progress["share"])
        self.query_one("#all-rows-counts", Static).update(format_counts(progress))

    def _show_end(self, progress: dict[str, Any] | None) -> None:
        if progress is None:
            return
        self._last = progress
        self._show_progress(progress)
        columns = convert(progress["columns"], list[ColumnTotals])
        self.query_one("#all-rows-columns", Static).update(format_comparison(self._sample, columns))
        self.query_one("#dialog-keys", Static).update("enter or esc closes")

    def show_error(self, error: LocalcdapError) -> None:
        self.studio.report_error(error)
        self.dismiss(None)


def format_counts(progress: dict[str, Any]) -> str:
    """Return what was read, written and left out."""
    parts = [f"{plural(progress['rows_in'], 'row')} read"]
    if progress["is_done"]:
        parts.append(f"{progress['rows_out']:,} in the result")
    if progress["failed"]:
        parts.append(f"{progress['failed']:,} failed")
    if progress["sent"]:
        parts.append(f"{progress['sent']:,} sent to error")
    results = convert(progress["expectations"], list[RuleResult])
    expected = [f"{each.label}: {describe_result(each)}" for each in results]
    problems = [f"row {each['row']:,}: {each['message']}" for each in progress["problems"][:3]]
    return "\n".join([" · ".join(parts), *map(sanitize_for_terminal, [*problems, *expected])])


def format_comparison(sample: Sequence[ColumnView], columns: Sequence[ColumnTotals]) -> Content:
    """Return what all rows have that the sample did not show, column by column."""
    known = {each.name: each for each in sample}
    lines: list[Content | str] = []
    for column in columns:
        found = describe_surprises(known.get(column.name), column)
        if found:
            name = sanitize_name(column.name)
            lines.append(Content.assemble((f"{name}  ", "bold"), " · ".join(found)))
    same = len(columns) - len(lines)
    if same:
        said = "All columns are" if not lines else f"{plural(same, 'other column')}:"
        lines.append(Content.styled(f"{said} as in the sample", MUTED))
    title = Content.styled("What the sample did not show", "bold")
    return Content("\n").join([title, *map(Content.assemble, lines)])


def describe_surprises(sample: ColumnView | None, column: ColumnTotals) -> list[str]:
    """Return in which ways all rows of a column differ from those of the sample."""
    if sample is None or sample.profile is None:
        return ["the sample does not have it"]
    profile = sample.profile
    found = []
    if sample.type != column.type:
        found.append(f"type {sample.type} → {column.type}")
    for name, count, total in (
        ("null", profile.nulls, column.nulls),
        ("blank", profile.empty, column.empty),
    ):
        before, after = count / max(1, profile.rows), total / max(1, column.rows)
        if abs(before - after) >= _NOTABLE or (not count and total):
            found.append(f"{name} {before:.1%} → {after:.1%}")
    for name, was, now in (
        ("lowest", profile.lowest, column.lowest),
        ("highest", profile.highest, column.highest),
    ):
        if sample.type != "string" and was is not None and now is not None and was != now:
            found.append(f"{name} {was} → {now}")
    is_unique = profile.distinct == profile.rows - profile.nulls
    if is_unique and not column.has_more and column.distinct < column.rows - column.nulls:
        found.append(
            f"not unique: {column.distinct:,} values in {column.rows - column.nulls:,} rows"
        )
    if not is_unique and column.distinct > _MANY_MORE * max(1, profile.distinct):
        least = "more than " if column.has_more else ""
        found.append(f"{profile.distinct:,} → {least}{column.distinct:,} values")
    return [sanitize_name(each) for each in found]
