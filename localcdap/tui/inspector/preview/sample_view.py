"""The records of a stage, of the last preview too: a table for each port, problems, error records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Tab, Tabs

from localcdap.api.schema import Schema
from localcdap.engine.messages.samples import RejectedRecord, StageProblem, StageSample
from localcdap.host.cdap import Cdap
from localcdap.runs.model import format_payload
from localcdap.runs.preview.model import DebugAnswer, Preview, PreviewStatus
from localcdap.text import plural
from localcdap.tui.document.editor import Editor
from localcdap.tui.labels import format_status
from localcdap.tui.records.table import RecordTable
from localcdap.tui.service_calls import FollowedSource
from localcdap.tui.studio import ExplainedActions, StudioNode
from localcdap.tui.widgets.lines import CachedStatic


class SampleTable(NamedTuple):
    """One table of records."""

    label: str
    records: list[Any]
    schema: Schema | None
    note: str = ""
    """Which part of the records is shown, if not all."""


class SampleResult(NamedTuple):
    """The output of a stage: tables of records, problems and log lines."""

    sheets: list[SampleTable]
    rejected: SampleTable | None
    """The error records; None when there are none."""
    problems: list[StageProblem]
    logs: list[str]


def read_preview_sample(sample: StageSample) -> SampleResult:
    sheets = [
        SampleTable(
            f"port {port}",
            each.records,
            each.schema,
            _describe_limit(len(each.records), each.count),
        )
        for port, each in sample.ports.items()
    ]
    if not sheets:
        note = _describe_limit(len(sample.records), sample.count)
        sheets = [SampleTable("records", sample.records, sample.schema, note)]
    sheets += _list_alert_sheets(
        sample.alerts, _describe_limit(len(sample.alerts), sample.alert_count)
    )
    note = _describe_limit(len(sample.errors), sample.error_count)
    altered = [each.describe() for each in sample.altered]
    return SampleResult(sheets, _create_rejected(sample.errors, note), sample.problems, altered)


def read_debug_answer(answer: DebugAnswer) -> SampleResult:
    sheets = [
        SampleTable(f"port {p}", each.records, each.schema) for p, each in answer.ports.items()
    ]
    if answer.output is not None:
        sheets.append(SampleTable("records", answer.output.records, answer.output.schema))
    sheets += _list_alert_sheets(answer.alerts)
    rejected = _create_rejected(answer.error_records)
    logs = [*answer.logs, *(each.describe() for each in answer.altered)]
    return SampleResult(sheets, rejected, answer.errors, logs)


def _list_alert_sheets(alerts: list[dict[str, str | None]], note: str = "") -> list[SampleTable]:
    """Return the table of the alerts of a stage, if it has emitted any."""
    records = [{"alert": format_payload(each)} for each in alerts]
    return [SampleTable("alerts", records, None, note)] if records else []


def _create_rejected(errors: list[RejectedRecord], note: str = "") -> SampleTable | None:
    records = [
        {"message": each.message, "code": each.code, "record": _format_record(each.record)}
        for each in errors
    ]
    return SampleTable("errors", records, None, note) if records else None


def _format_record(record: Any) -> str:
    return record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)


def _describe_limit(shown: int, count: int) -> str:
    return f"the first of {count:,}" if count > shown else ""


_MOST_PROBLEMS: Final = 5
_MOST_FRAMES: Final = 3


class _SheetTab(Tab):
    """The tab of one table."""

    def __init__(self, sheet: str, count: str) -> None:
        super().__init__(Content(sheet + count))
        self.sheet = sheet


class SampleView(ExplainedActions, Vertical):
    """A table of records with tabs for its sheets, and below it the records that the stage rejected."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "greater_than_sign", "next_sheet", "next table", id="records.next_sheet", show=False
        ),
    ]
    DEFAULT_CSS = """
    SampleView { height: 1fr; }
    SampleView > .problems { height: auto; max-height: 30%; padding: 0 1; overflow-y: auto; }
    SampleView > .rejected-title { height: 1; padding: 0 1; color: $text-error; }
    SampleView > .rejected { display: none; }
    SampleView.-rejected > .rejected { display: block; height: 2fr; min-height: 4; }
    SampleView.-rejected > .accepted { height: 3fr; min-height: 4; }
    SampleView Tabs { height: 1; display: none; }
    SampleView Tabs.-any { display: block; }
    SampleView Underline { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._sheets: list[SampleTable] = []

    def compose(self) -> ComposeResult:
        yield CachedStatic(classes="problems")
        yield Tabs()
        yield RecordTable(classes="accepted")
        yield CachedStatic(classes="rejected-title")
        yield RecordTable(classes="rejected")

    @property
    def sheets(self) -> list[SampleTable]:
        return self._sheets

    @property
    def table(self) -> RecordTable:
        return self.query_one(".accepted", RecordTable)

    @property
    def rejected(self) -> RecordTable:
        """The table of the error records, shown while there are any."""
        return self.query_one(".rejected", RecordTable)

    def show_result(self, findings: SampleResult) -> None:
        """Show a result; the tab that was shown before stays selected."""
        before = self._label
        self._sheets = list(findings.sheets)
        if findings.logs:
            lines = [{"line": line} for line in findings.logs]
            self._sheets.append(SampleTable("log", lines, None))
        self.query_one(".problems", CachedStatic).update_lines(_render_problems(findings.problems))
        self._show_rejected(findings.rejected)
        self.run_worker(self._fill_tabs(before), group="tabs", exclusive=True)

    def show_note(self, note: str) -> None:
        """Show only a note."""
        self._sheets = []
        self.hide_problems()
        self._show_rejected(None)
        self.query_one(Tabs).remove_class("-any")
        self.table.clear(note)

    def hide_problems(self) -> None:
        """Show no problems, for instance because the stage runs again."""
        self.query_one(".problems", CachedStatic).update_lines([])

    def _show_rejected(self, rejected: SampleTable | None) -> None:
        self.set_class(rejected is not None, "-rejected")
        title = self.query_one(".rejected-title", CachedStatic)
        if rejected is None:
            title.update_lines([])
            self.rejected.clear()
        else:
            count = plural(len(rejected.records), "error record")
            title.update_lines([Content(f"✗ {count}")])
            self.rejected.show_records(rejected.records, None, rejected.note)

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        is_only = action == "next_sheet" and len(self._sheets) < 2
        return "there is no other table" if is_only else None

    def action_next_sheet(self) -> None:
        self.query_one(Tabs).action_next_tab()

    @on(Tabs.TabActivated)
    def _handle_tab(self, event: Tabs.TabActivated) -> None:
        event.stop()
        self._show_sheet()

    @property
    def _label(self) -> str | None:
        tab = self.query_one(Tabs).active_tab
        return tab.sheet if isinstance(tab, _SheetTab) else None

    async def _fill_tabs(self, before: str | None) -> None:
        tabs = self.query_one(Tabs)
        with self.prevent(Tabs.TabActivated, Tabs.Cleared):
            await tabs.clear()
            for sheet in self._sheets:
                count = f" {len(sheet.records):,}" if sheet.label != "records" else ""
                await tabs.add_tab(_SheetTab(sheet.label, count))
        tabs.set_class(len(self._sheets) > 1, "-any")
        labels = [sheet.label for sheet in self._sheets]
        if before in labels and before != self._label:
            tabs.active = tabs.query(Tab)[labels.index(before)].id or ""
        self._show_sheet()

    def _show_sheet(self) -> None:
        label = self._label
        sheet = next((each for each in self._sheets if each.label == label), None)
        if sheet is None:
            self.table.clear()
        else:
            self.table.show_records(sheet.records, sheet.schema, sheet.note)


def _render_problems(problems: list[StageProblem]) -> list[Content]:
    lines: list[Content] = []
    for each in problems[:_MOST_PROBLEMS]:
        record = f"record {each.record}: " if each.record is not None else ""
        place = f"{each.field}: " if each.field else record
        lines.append(Content.styled(f"✗ {place}{each.message}", "$text-error"))
        if each.corrective_action:
            lines.append(Content(f"  {each.corrective_action}"))
        frames = (each.trace or "").splitlines()[-_MOST_FRAMES:]
        lines += [Content.styled(f"    {frame.strip()}", "$foreground 60%") for frame in frames]
    if len(problems) > _MOST_PROBLEMS:
        lines.append(
            Content.styled(f"… and {len(problems) - _MOST_PROBLEMS} more", "$foreground 60%")
        )
    return lines


_POLL_S: Final = 2.0
_MOST_FAILURES: Final = 5
_GOOD: Final = PreviewStatus.COMPLETED


class PreviewPane(StudioNode, Vertical):
    """Follows a preview while it runs."""

    DEFAULT_CSS = """
    PreviewPane { height: 1fr; }
    PreviewPane > .state { height: auto; padding: 0 1; }
    """

    def __init__(self, editor: Editor) -> None:
        super().__init__()
        self._editor = editor
        self._stage: str | None = None
        self._preview: Preview | None = None
        self._following: FollowedSource | None = None
        self._is_looking = False

    def compose(self) -> ComposeResult:
        yield CachedStatic(classes="state")
        yield SampleView()

    def on_mount(self) -> None:
        self._draw()

    @property
    def preview(self) -> Preview | None:
        """The preview that is shown; None without a preview."""
        return self._preview

    def get_records(self, stage: str) -> list[object] | None:
        """Return the output records of a stage in the preview; None when the preview has none."""
        sample = self._preview.stages.get(stage) if self._preview is not None else None
        return None if sample is None or sample.ports else sample.records

    def show_stage(self, stage: str | None) -> None:
        if stage != self._stage:
            self._stage = stage
            self._draw()

    def find_newest(self) -> None:
        """Show the newest preview of the pipeline, unless the pane shows a preview already."""
        if self._preview is None and not self._is_looking:
            self._is_looking = True
            namespace, title = self._editor.namespace, self._editor.title

            def newest(cdap: Cdap) -> Preview | None:
                listed = cdap.previews.list_previews(namespace)
                return next((each for each in listed if each.pipeline == title), None)

            self.call(newest, self._follow_newest, group="newest")

    def follow_preview(self, preview: str) -> None:
        """Show a preview and its progress."""
        if self._following is not None:
            self._following.stop()
        source = partial(_follow_states, self._editor.namespace, preview)
        self._following = self.follow(source, self._take, on_error=lambda _: self._stop_following())

    def _follow_newest(self, newest: Preview | None) -> None:
        self._is_looking = False
        if newest is not None and self._preview is None:
            self.follow_preview(newest.preview)

    def _stop_following(self) -> None:
        if self._following is not None:
            self._following.stop()
            self._following = None

    def _take(self, preview: Preview) -> None:
        before, self._preview = self._preview, preview
        stage = self._stage
        same = before is not None and before.preview == preview.preview and stage is not None
        if (
            same
            and before is not None
            and before.stages.get(stage or "") is preview.stages.get(stage or "")
        ):
            self._show_state()
            return
        self._draw()

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        view, preview, stage = self.query_one(SampleView), self._preview, self._stage
        self._show_state()
        if preview is None:
            view.show_note("No preview yet: v previews the pipeline on a few records.")
        elif stage is None or stage not in preview.stages:
            waits = (
                "has not reached this stage yet"
                if not preview.status.is_end
                else "has no records of this stage"
            )
            view.show_note(f"The preview {waits}.")
        else:
            view.show_result(read_preview_sample(preview.stages[stage]))

    def _show_state(self) -> None:
        preview = self._preview
        lines: list[Content] = []
        if preview is not None:
            status = preview.status
            glyph = "…" if not status.is_end else "✓" if status is _GOOD else "✗"
            lines.append(
                Content.styled(f"{glyph} preview {format_status(status)}", "$foreground 60%")
            )
            for each in preview.errors[:_MOST_FAILURES]:
                lines += _render_failure(each.stage, each.message, each.corrective_action)
            if len(preview.errors) > _MOST_FAILURES:
                more = f"… and {len(preview.errors) - _MOST_FAILURES} more"
                lines.append(Content.styled(more, "$foreground 60%"))
            error = preview.error
            sample = preview.stages.get(self._stage or "")
            shown = {each.message for each in sample.problems} if sample is not None else set()
            if error is not None and error.message not in shown:
                lines += _render_failure(error.stage, error.message, error.corrective_action)
        self.query_one(".state", CachedStatic).update_lines(lines)


def _render_failure(stage: str | None, message: str, action: str | None) -> Iterator[Content]:
    where = f"Stage '{stage}': " if stage else ""
    if message.startswith(where):
        where = ""
    yield Content.styled(f"✗ {where}{message}", "$text-error")
    if action:
        yield Content(f"  {action}")


def _follow_states(namespace: str, preview: str, cdap: Cdap) -> Iterator[Preview]:
    """Yield the preview after each change and after each poll, until it has ended."""
    found = cdap.previews.get(namespace, preview)
    yield found
    while not found.status.is_end:
        found = cdap.previews.wait(namespace, preview, found.version, _POLL_S)
        yield found
