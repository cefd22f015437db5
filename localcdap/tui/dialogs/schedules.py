"""The dialog with the schedules of a deployed pipeline, and with what became of their triggers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from localcdap.api.errors import LocalcdapError
from localcdap.host.cdap import Cdap
from localcdap.schedules.constraints import describe_constraint
from localcdap.schedules.model import EventKind, ScheduleEvent, ScheduleStatus, ScheduleSummary
from localcdap.schedules.triggers import describe_trigger
from localcdap.text import format_time
from localcdap.tui.dialogs.dialog_screen import DialogScreen, create_title
from localcdap.tui.dialogs.schedule_entries import can_edit
from localcdap.tui.dialogs.schedule_form import FormAnswer, ScheduleChoices, ScheduleForm
from localcdap.tui.labels import sanitize_name
from localcdap.tui.lists import FilteredList, ListEntry

_EVENTS: Final = 5
_MUTED: Final = "$foreground 60%"


class SchedulesDialog(DialogScreen[None]):
    """Lists the schedules of a pipeline, and changes them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "add", id="schedules.add"),
        Binding("e", "change", "change", id="schedules.change"),
        Binding("s", "switch", "enable or suspend", id="schedules.switch"),
        Binding("d,delete", "remove", "delete", id="schedules.remove"),
    ]
    DEFAULT_CSS = """
    SchedulesDialog > #dialog { width: 96; height: 26; }
    SchedulesDialog #schedules-detail { height: auto; max-height: 10; margin-top: 1; }
    """
    HAS_FOOTER = True
    AUTO_FOCUS = "FilteredListOptions"

    def __init__(self, pipeline: str) -> None:
        super().__init__()
        self.pipeline = pipeline
        self._found: dict[str, ScheduleSummary] = {}

    def compose_body(self) -> ComposeResult:
        name = sanitize_name(self.pipeline)
        note = "They act while the studio, a command or the server is open."
        yield create_title(f"Schedules of {name}", note)
        yield FilteredList(
            verb="change",
            action="change",
            can_filter=False,
            empty="No schedules yet: a adds one.",
        )
        yield Static(id="schedules-detail")
        yield Static(id="dialog-problem")

    def on_mount(self) -> None:
        self._read()

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        if action not in ("change", "switch", "remove"):
            return None
        found = self._highlighted
        if found is None:
            return "nothing is highlighted"
        if action == "change" and not can_edit(found.schedule):
            return "it is not as simple as the form: use localcdap schedules update"
        return None

    @work
    async def action_add(self) -> None:
        await self._ask(None)

    @work
    async def action_change(self) -> None:
        await self._ask(self._highlighted)

    def action_switch(self) -> None:
        """Enable the highlighted schedule, or suspend it."""
        found = self._highlighted
        if found is None:
            return
        key = (self.studio.namespace, self.pipeline, found.schedule.name)
        if found.schedule.status is ScheduleStatus.SUSPENDED:
            self._change(lambda cdap: cdap.schedules.enable(*key))
        else:
            self._change(lambda cdap: cdap.schedules.suspend(*key))

    @work
    async def action_remove(self) -> None:
        found = self._highlighted
        if found is None:
            return
        name = found.schedule.name
        if await self.studio.confirm(f"Delete schedule {name}?", "What waits for it is dropped."):
            key = (self.studio.namespace, self.pipeline, name)
            self._change(lambda cdap: cdap.schedules.delete(*key))

    async def _ask(self, before: ScheduleSummary | None) -> None:
        namespace = self.studio.namespace
        try:
            choices = await self.call_and_wait(lambda cdap: _read_choices(cdap, namespace))
        except LocalcdapError as error:
            self.show_error(error)
            return
        schedule = before.schedule if before is not None else None

        def apply(cdap: Cdap, answer: FormAnswer) -> object:
            change = cdap.schedules.add if schedule is None else cdap.schedules.update
            return change(namespace, self.pipeline, answer.name, answer.request)

        form = ScheduleForm(self.pipeline, choices, schedule, apply)
        name = await self.app.push_screen_wait(form)
        if name is not None:
            self.show_problem("")
            self.query_one(FilteredList).show(name)
            self._read()

    def _change(self, change: Callable[[Cdap], object]) -> None:
        """Change schedules, then show all of them; an error stays in sight."""
        self.show_problem("")
        self.call(
            change,
            on_result=lambda _: self._read(),
            on_error=self.show_error,
            group="change",
            ordered=True,
        )

    def _read(self) -> None:
        namespace, pipeline = self.studio.namespace, self.pipeline
        self.call(
            lambda cdap: cdap.schedules.list_schedules(namespace, pipeline),
            on_result=self._fill,
            on_error=self.show_error,
            group="schedules",
        )

    def _fill(self, found: Sequence[ScheduleSummary]) -> None:
        self._found = {each.schedule.name: each for each in found}
        self.query_one(FilteredList).set_entries([_build_entry(each) for each in found])
        self._read_detail()

    @on(FilteredList.Highlighted)
    def _read_detail(self) -> None:
        found = self._highlighted
        if found is None:
            self.query_one("#schedules-detail", Static).update("")
            return
        key = (self.studio.namespace, self.pipeline, found.schedule.name)
        self.call(
            lambda cdap: cdap.schedules.list_events(*key, _EVENTS),
            on_result=lambda events: self._show_detail(found, events),
            on_error=self.show_error,
            group="detail",
        )

    def _show_detail(self, summary: ScheduleSummary, events: Sequence[ScheduleEvent]) -> None:
        schedule = summary.schedule
        facts = [describe_trigger(schedule.trigger)]
        if summary.next_runtime is not None and schedule.status is ScheduleStatus.SCHEDULED:
            facts.append(f"next {format_time(summary.next_runtime)}")
        facts += [describe_constraint(each) for each in schedule.constraints]
        facts += [f"{name}={value}" for name, value in sorted(schedule.properties.items())]
        lines = [Content.styled(sanitize_name("; ".join(facts)), _MUTED)]
        lines += [_format_event(each) for each in events]
        if not events:
            lines.append(Content.styled("Nothing was triggered yet.", _MUTED))
        self.query_one("#schedules-detail", Static).update(Content("\n").join(lines))

    @property
    def _highlighted(self) -> ScheduleSummary | None:
        key = self.query_one(FilteredList).key
        return None if key is None else self._found.get(key)


def _read_choices(cdap: Cdap, namespace: str) -> ScheduleChoices:
    """Return what the fields of the form complete."""
    return ScheduleChoices(
        [f"{each.name}=COMPLETED" for each in cdap.applications.list_applications(namespace)],
        [f"{each.name}=1" for each in cdap.datasets.list_datasets(namespace)],
    )


def _build_entry(summary: ScheduleSummary) -> ListEntry:
    schedule = summary.schedule
    is_enabled = schedule.status is ScheduleStatus.SCHEDULED
    due = f"next {format_time(summary.next_runtime)}" if summary.next_runtime else "enabled"
    return ListEntry(
        schedule.name,
        sanitize_name(f"{schedule.name}  {describe_trigger(schedule.trigger)}"),
        mark="●" if is_enabled else "○",
        hint=due if is_enabled else "suspended",
        tone="" if is_enabled else _MUTED,
    )


def _format_event(event: ScheduleEvent) -> Content:
    tone = "" if event.kind is EventKind.STARTED else "$text-warning"
    return Content.assemble(
        (f"{format_time(event.time)} ", _MUTED),
        (event.kind.lower().replace("_", " "), tone),
        f" {sanitize_name(event.message)}",
    )
