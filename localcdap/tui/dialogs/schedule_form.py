"""The dialog in which a schedule is made or changed, with the next times of its expression shown live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.suggester import SuggestFromList
from textual.widgets import Button, Checkbox, Footer, Input, Static

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.schedules.model import (
    MAPPING,
    AndTrigger,
    ConcurrencyConstraint,
    Constraint,
    OrTrigger,
    PartitionTrigger,
    PlannedTime,
    ProgramStatusTrigger,
    Schedule,
    ScheduleRequest,
    TimeTrigger,
    Trigger,
)
from localcdap.schedules.texts import (
    combine,
    format_partition_trigger,
    format_run_trigger,
    parse_partition_trigger,
    parse_run_trigger,
)
from localcdap.text import sanitize_for_terminal
from localcdap.tui.dialogs.dialog_screen import DialogScreen

_TIMES: Final = 5
_WEEKDAYS_NOTE: Final = "Five fields, or those of Quartz. Days of the week: 1 (SUN) to 7 (SAT)."


@dataclass(frozen=True)
class ScheduleChoices:
    """The names that the fields complete."""

    pipelines: Sequence[str]
    datasets: Sequence[str]


@dataclass(frozen=True)
class FormAnswer:
    """What the user has entered."""

    name: str
    request: ScheduleRequest


class ScheduleForm(DialogScreen[FormAnswer]):
    """Asks for a schedule.

    :param pipeline: that the schedule starts.
    :param schedule: to be changed; None for a new one.
    """

    DEFAULT_CSS = """
    ScheduleForm {
        align: center middle; background: $background 60%;
        & > Vertical { width: 84; max-width: 96%; height: auto; padding: 1 2; background: $surface; }
        & #form-title { text-style: bold; margin-bottom: 1; }
        & .row { height: 1; }
        & .row > .label { width: 20; color: $text-muted; }
        & .row > Input { width: 1fr; border: none; height: 1; padding: 0 1; background: $panel; }
        & .row > Checkbox { border: none; height: 1; padding: 0; background: $surface; }
        & #form-times { height: 6; margin: 0 0 0 20; color: $text-muted; }
        & #form-times.-wrong { color: $text-error; }
        & #form-problem { height: auto; color: $text-error; }
        & #form-buttons { height: 1; margin-top: 1; align-horizontal: right; }
        & Button { margin-left: 2; min-width: 12; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "take", "apply", priority=True),
    ]

    def __init__(self, pipeline: str, choices: ScheduleChoices, schedule: Schedule | None) -> None:
        super().__init__()
        self._pipeline = pipeline
        self._choices = choices
        self._schedule = schedule

    def compose(self) -> ComposeResult:
        found = self._schedule
        title = "New schedule of" if found is None else f"Schedule {found.name} of"
        with Vertical():
            yield Static(Content(f"{title} {self._pipeline}"), id="form-title")
            if found is None:
                yield from _compose_text("name", "name", "")
            yield from self._compose_triggers()
            yield from self._compose_conditions()
            yield Static(id="form-problem")
            with Horizontal(id="form-buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Apply", id="take", variant="primary", compact=True)
        yield Footer(show_command_palette=False)

    def _compose_triggers(self) -> ComposeResult:
        found, namespace = self._schedule, self.studio.namespace
        parts = _list_parts(found.trigger) if found is not None else []
        time = next((each for each in parts if isinstance(each, TimeTrigger)), None)
        runs = [
            format_run_trigger(each, namespace)
            for each in parts
            if isinstance(each, ProgramStatusTrigger)
        ]
        data = [
            format_partition_trigger(each, namespace)
            for each in parts
            if isinstance(each, PartitionTrigger)
        ]
        yield from _compose_text("at times", "cron", time.cron_expression if time else "")
        yield Static(_WEEKDAYS_NOTE, id="form-times")
        zone = (time.time_zone if time else "") or ""
        yield from _compose_text("time zone", "zone", zone, "that of this machine")
        pipelines, datasets = self._choices.pipelines, self._choices.datasets
        example = "PIPELINE=COMPLETED"
        yield from _compose_text("after runs of", "runs", " ".join(runs), example, pipelines)
        name = "for partitions of"
        yield from _compose_text(name, "partitions", " ".join(data), "DATASET=1", datasets)
        is_any = found is not None and isinstance(found.trigger, OrTrigger)
        yield from _compose_switch("one of these is enough", "any", is_on=is_any)

    def _compose_conditions(self) -> ComposeResult:
        found = self._schedule.constraints if self._schedule is not None else []
        limit = next((each for each in found if isinstance(each, ConcurrencyConstraint)), None)
        most = str(limit.max_concurrency) if limit is not None else ""
        yield from _compose_text("runs at once", "most", most, "any number")
        waits = limit is not None and limit.wait_until_met
        yield from _compose_switch("wait for that", "waits", is_on=waits)
        given = _format_arguments(self._schedule)
        yield from _compose_text("arguments", "arguments", given, "name=value, name=value")

    def on_mount(self) -> None:
        self._show_times()

    @on(Input.Changed, "#form-cron")
    @on(Input.Changed, "#form-zone")
    def _show_times(self) -> None:
        """Show when the expression is due next, or what is wrong with it."""
        cron, zone = self._read("cron"), self._read("zone") or None
        if not cron:
            self._set_times(_WEEKDAYS_NOTE, is_wrong=False)
            return
        self.call(
            lambda cdap: cdap.schedules.list_times(cron, zone, _TIMES),
            on_result=self._fill_times,
            on_error=self._show_wrong_times,
            group="times",
        )

    def _fill_times(self, times: Sequence[PlannedTime]) -> None:
        text = "\n".join(each.text for each in times) or "It is never due again."
        self._set_times(text, is_wrong=False)

    def _show_wrong_times(self, error: LocalcdapError) -> None:
        self._set_times(error.message, is_wrong=True)

    def _set_times(self, text: str, *, is_wrong: bool) -> None:
        times = self.query_one("#form-times", Static)
        times.set_class(is_wrong, "-wrong")
        times.update(Content(sanitize_for_terminal(text)))

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)

    @on(Button.Pressed, "#take")
    def _take(self) -> None:
        self.action_take()

    def action_take(self) -> None:
        """Answer with what was entered, or say what is wrong."""
        try:
            answer = self._build_answer()
        except BadRequestError as error:
            self.query_one("#form-problem", Static).update(Content(error.full_message))
            return
        self.dismiss(answer)

    def _build_answer(self) -> FormAnswer:
        name = self._schedule.name if self._schedule is not None else self._read("name")
        if not name:
            raise BadRequestError("Enter a name.")
        namespace, triggers = self.studio.namespace, list[Trigger]()
        cron = self._read("cron")
        if cron:
            triggers.append(TimeTrigger(cron, self._read("zone") or None))
        triggers += [parse_run_trigger(each, namespace) for each in self._read("runs").split()]
        triggers += [
            parse_partition_trigger(each, namespace) for each in self._read("partitions").split()
        ]
        trigger = combine(triggers, any_of=self.query_one("#form-any", Checkbox).value)
        if trigger is None:
            raise BadRequestError("Enter times, a pipeline or a dataset.")
        request = ScheduleRequest(trigger)
        request.constraints = self._build_constraints()
        request.properties = self._build_arguments()
        return FormAnswer(name, request)

    def _build_constraints(self) -> list[Constraint]:
        """Return the constraints: those that the form does not show stay."""
        before = self._schedule.constraints if self._schedule is not None else []
        kept: list[Constraint] = [
            each for each in before if not isinstance(each, ConcurrencyConstraint)
        ]
        most = self._read("most")
        if not most:
            return kept
        if not most.isdecimal() or not int(most):
            raise BadRequestError(f"'{most}' is not a valid number of runs.")
        waits = self.query_one("#form-waits", Checkbox).value
        return [ConcurrencyConstraint(int(most), waits), *kept]

    def _build_arguments(self) -> dict[str, str]:
        before = self._schedule.properties if self._schedule is not None else {}
        found = {MAPPING: before[MAPPING]} if MAPPING in before else {}
        for each in self._read("arguments").split(","):
            if not each.strip():
                continue
            name, equals, value = each.partition("=")
            if not equals or not name.strip():
                raise BadRequestError(
                    f"'{each.strip()}' is not a valid argument.", "Write name=value."
                )
            found[name.strip()] = value.strip()
        return found

    def _read(self, field: str) -> str:
        return self.query_one(f"#form-{field}", Input).value.strip()


def can_edit(schedule: Schedule) -> bool:
    """Whether the form shows all of a schedule: one trigger of each kind of time, and none in others."""
    trigger = schedule.trigger
    parts = _list_parts(trigger)
    is_flat = not any(isinstance(each, AndTrigger | OrTrigger) for each in parts)
    has_commas = any("," in value for name, value in schedule.properties.items() if name != MAPPING)
    return is_flat and sum(isinstance(e, TimeTrigger) for e in parts) < 2 and not has_commas


def _list_parts(trigger: Trigger) -> list[Trigger]:
    return trigger.triggers if isinstance(trigger, AndTrigger | OrTrigger) else [trigger]


def _format_arguments(schedule: Schedule | None) -> str:
    given = schedule.properties if schedule is not None else {}
    return ", ".join(f"{name}={value}" for name, value in given.items() if name != MAPPING)


def _compose_text(
    label: str, field: str, value: str, placeholder: str = "", known: Sequence[str] = ()
) -> ComposeResult:
    """Compose a row with a text.

    :param known: the values that the field completes.
    """
    with Horizontal(classes="row"):
        yield Static(label, classes="label")
        yield Input(
            value,
            placeholder=placeholder,
            suggester=SuggestFromList(known) if known else None,
            id=f"form-{field}",
            compact=True,
        )


def _compose_switch(label: str, field: str, *, is_on: bool) -> ComposeResult:
    with Horizontal(classes="row"):
        yield Static("", classes="label")
        yield Checkbox(label, is_on, id=f"form-{field}", compact=True)
