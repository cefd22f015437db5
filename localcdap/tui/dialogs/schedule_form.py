"""The dialog in which a schedule is made or changed, with the next times of its expression shown live."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.suggester import Suggester, SuggestFromList
from textual.widget import Widget
from textual.widgets import Checkbox, Input, Static

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.reader import read_document
from localcdap.schedules.model import (
    DAY_MS,
    Constraint,
    OrTrigger,
    PartitionTrigger,
    PlannedTime,
    ProgramStatusTrigger,
    Schedule,
    ScheduleRequest,
    TimeTrigger,
)
from localcdap.schedules.texts import (
    format_partition_trigger,
    format_run_trigger,
    parse_run_trigger,
    write_duration,
)
from localcdap.text import plural, sanitize_for_terminal
from localcdap.tui.dialogs.dialog_screen import DialogScreen, create_row
from localcdap.tui.dialogs.schedule_entries import (
    CONDITION_FIELDS,
    ScheduleEntries,
    find_shown,
    find_zone_of,
    format_arguments,
    format_mappings,
    list_hidden_mappings,
    list_parts,
    write_constraint,
)


class StudioCheckbox(Checkbox):
    """A compact checkbox that is empty while it is off; those of Textual differ by their colour only."""

    def __init__(self, label: str, value: bool, *, id: str) -> None:
        super().__init__(label, value, id=id, compact=True)
        self._show_state()

    def watch_value(self) -> None:
        """Show the changed state."""
        self._show_state()
        super().watch_value()

    def _show_state(self) -> None:
        self.BUTTON_INNER = "X" if self.value else " "


@dataclass(frozen=True)
class MappingNames:
    """The names in the mappings of a schedule.

    :param targets: the arguments that the pipeline takes.
    :param arguments: those of the pipelines whose runs trigger it.
    :param properties: of the stages of those pipelines, such as ``Sink.path``.
    """

    targets: Sequence[str]
    arguments: Sequence[str]
    properties: Sequence[str]


class PairSuggester(Suggester):
    """Completes the last of the pairs in a field: first the target, after ``=`` the source."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.targets: Sequence[str] = ()
        self.sources: Sequence[str] = ()

    async def get_suggestion(self, value: str) -> str | None:
        pair = value.rpartition(",")[2].lstrip()
        target, equals, source = pair.partition("=")
        known = self.sources if equals else [f"{each}=" for each in self.targets]
        typed = source if equals else target
        found = next((each for each in known if each.startswith(typed) and each != typed), None)
        return None if found is None else value[: len(value) - len(typed)] + found


def read_mapping_names(
    cdap: Cdap, namespace: str, pipeline: str, triggers: Sequence[str]
) -> MappingNames:
    """Read the names in the documents of a pipeline and of those whose runs trigger it.

    :param triggers: as :func:`parse_run_trigger` reads them; one of a pipeline that is not deployed gives no
        names.
    """
    arguments: dict[str, None] = {}
    properties: dict[str, None] = {}
    for each in triggers:
        program = parse_run_trigger(each, namespace).program_id
        names, found = _read_names(cdap, program.namespace, program.application)
        arguments |= dict.fromkeys(names)
        properties |= dict.fromkeys(found)
    targets, _ = _read_names(cdap, namespace, pipeline)
    return MappingNames(targets, list(arguments), list(properties))


def _read_names(cdap: Cdap, namespace: str, pipeline: str) -> tuple[list[str], list[str]]:
    """Return the arguments of a deployed pipeline, and the properties of its stages."""
    try:
        text = cdap.applications.export(namespace, pipeline)
        arguments = cdap.runs.get_arguments(namespace, text, pipeline).arguments
        stages = read_document(text).stages
    except LocalcdapError:
        return [], []
    properties = [f"{each.name}.{name}" for each in stages for name in each.plugin.properties]
    return [each.name for each in arguments], properties


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


class ScheduleForm(DialogScreen[str]):
    """Asks for a schedule, makes or changes it, and answers with its name.

    :param pipeline: that the schedule starts.
    :param schedule: to be changed; None for a new one.
    :param apply: makes or changes the schedule. What it refuses is said in the form, which stays.
    """

    DEFAULT_CSS = """
    ScheduleForm {
        & > #dialog { width: 84; height: 26; max-height: 92%; }
        & #form-fields { height: 1fr; scrollbar-size: 1 1; }
        & .row > StudioCheckbox { border: none; height: 1; padding: 0 0 0 1; background: $surface; }
        & #form-times { height: 5; margin: 0 0 0 20; color: $text-muted; }
        & #form-times.-wrong { color: $text-error; }
        & #form-hidden { margin: 0 0 0 20; color: $text-muted; }
        & #form-problems { height: auto; max-height: 6; scrollbar-size: 1 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "accept", "apply", priority=True),
    ]
    HAS_FOOTER = True

    def __init__(
        self,
        pipeline: str,
        choices: ScheduleChoices,
        schedule: Schedule | None,
        apply: Callable[[Cdap, FormAnswer], object],
    ) -> None:
        super().__init__()
        self._pipeline = pipeline
        self._choices = choices
        self._schedule = schedule
        self._apply = apply
        self._is_applying = False

    def compose_body(self) -> ComposeResult:
        schedule = self._schedule
        title = "New schedule of" if schedule is None else f"Schedule {schedule.name} of"
        yield Static(Content(f"{title} {self._pipeline}"), id="dialog-title")
        with VerticalScroll(id="form-fields", can_focus=False):
            if schedule is None:
                yield _create_text("name", "name", "")
            yield from self._compose_triggers()
            yield from self._compose_conditions()
            yield from self._compose_mappings()
        with VerticalScroll(id="form-problems", can_focus=False):
            yield Static(id="dialog-problem")
        yield from self.compose_buttons("Apply")

    def _compose_triggers(self) -> ComposeResult:
        found, namespace = self._schedule, self.studio.namespace
        parts = list_parts(found.trigger) if found is not None else []
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
        yield _create_text("at times", "cron", time.cron_expression if time else "")
        yield Static(_WEEKDAYS_NOTE, id="form-times")
        zone = (time.time_zone if time else "") or ""
        yield _create_text("time zone", "zone", zone, "that of this machine")
        pipelines, datasets = self._choices.pipelines, self._choices.datasets
        example = "PIPELINE=COMPLETED"
        yield _create_text("after runs of", "runs", " ".join(runs), example, _suggest(pipelines))
        name = "for partitions of"
        yield _create_text(name, "partitions", " ".join(data), "DATASET=1", _suggest(datasets))
        is_any = found is not None and isinstance(found.trigger, OrTrigger)
        yield create_row("", StudioCheckbox("one of these is enough", is_any, id="form-any"))

    def _compose_conditions(self) -> ComposeResult:
        for each in CONDITION_FIELDS:
            found = find_shown(each.kind, self._constraints)
            text = (
                write_constraint(found, find_zone_of(self._schedule)) if found is not None else ""
            )
            fields: list[Widget] = [_create_input(each.name, text, each.example)]
            if each.can_drop:
                waits = found is not None and found.wait_until_met
                fields.append(
                    StudioCheckbox("wait, else drop", waits, id=f"form-{each.name}-waits")
                )
            yield create_row(each.label, *fields)
        timeout = write_duration(self._schedule.timeout_millis) if self._schedule else ""
        yield _create_text("waits at most", "timeout", timeout, write_duration(DAY_MS))
        given = format_arguments(self._schedule)
        yield _create_text("arguments", "arguments", given, "name=value, name=value")

    def _compose_mappings(self) -> ComposeResult:
        """Compose the rows of what a run takes from the run that has triggered it."""
        arguments, properties = format_mappings(self._schedule)
        for label, field, text, example in (
            ("map arguments", "map", arguments, "ARGUMENT=SOURCE, of the triggering run"),
            (
                "map properties",
                "map-property",
                properties,
                "ARGUMENT=STAGE.PROPERTY, of its pipeline",
            ),
        ):
            yield _create_text(label, field, text, example, PairSuggester())
        hidden = list_hidden_mappings(self._schedule)
        count = len(hidden.arguments) + len(hidden.plugin_properties)
        if count:
            note = f"{plural(count, 'mapping')} that cannot be shown here: kept as set"
            yield Static(note, id="form-hidden")

    @property
    def _constraints(self) -> Sequence[Constraint]:
        return self._schedule.constraints if self._schedule is not None else []

    def on_mount(self) -> None:
        self._show_times()
        self._read_names()

    @on(Input.Changed, "#form-runs")
    def _read_names(self) -> None:
        """Read the names that the mappings complete: those of the pipelines whose runs trigger this one."""
        namespace, pipeline = self.studio.namespace, self._pipeline
        texts = self._read("runs").split()
        self.call(
            lambda cdap: read_mapping_names(cdap, namespace, pipeline, texts),
            on_result=self._complete_mappings,
            group="names",
        )

    def _complete_mappings(self, names: MappingNames) -> None:
        for field, sources in (("map", names.arguments), ("map-property", names.properties)):
            suggester = self.query_one(f"#form-{field}", Input).suggester
            if isinstance(suggester, PairSuggester):
                suggester.targets, suggester.sources = names.targets, sources

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

    def action_accept(self) -> None:
        """Make or change the schedule, or say what is wrong."""
        if self._is_applying:
            return
        try:
            answer = self._build_answer()
        except BadRequestError as error:
            self.show_error(error)
            return
        self._is_applying = True
        self.call(
            lambda cdap: self._apply(cdap, answer),
            on_result=lambda _: self.dismiss(answer.name),
            on_error=self.show_error,
        )

    def show_error(self, error: LocalcdapError) -> None:
        self._is_applying = False
        super().show_error(error)
        self.query_one("#form-problems").can_focus = True
        if self.focused is not None:  # the text takes lines of the fields
            self.call_after_refresh(self.focused.scroll_visible)

    def _build_answer(self) -> FormAnswer:
        texts = {_name(each): each.value.strip() for each in self.query(Input)}
        switches = {_name(each): each.value for each in self.query(StudioCheckbox)}
        entries = ScheduleEntries(
            self.studio.namespace, self._pipeline, self._schedule, texts, switches
        )
        return FormAnswer(entries.name, entries.build_request())

    def _read(self, field: str) -> str:
        return self.query_one(f"#form-{field}", Input).value.strip()


def _name(field: Widget) -> str:
    """Return the name of the field of an entry."""
    return (field.id or "").removeprefix("form-")


def _suggest(known: Sequence[str]) -> Suggester | None:
    return SuggestFromList(known) if known else None


def _create_text(
    label: str,
    field: str,
    value: str,
    placeholder: str = "",
    suggester: Suggester | None = None,
) -> Horizontal:
    """Return a row with a text."""
    return create_row(label, _create_input(field, value, placeholder, suggester))


def _create_input(
    field: str, value: str, placeholder: str, suggester: Suggester | None = None
) -> Input:
    return Input(
        value, placeholder=placeholder, suggester=suggester, id=f"form-{field}", compact=True
    )
