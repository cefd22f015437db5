"""The pane that debugs a stage: runs it on given records and shows its output."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.api.schema import Schema
from localcdap.runs.preview.model import DebugAnswer, DebugRequest, GivenRecords
from localcdap.tui.document.editor import Editor
from localcdap.tui.inspector.preview.sample_input import (
    UpstreamRecords,
    format_records,
    generate_records,
    parse_records,
)
from localcdap.tui.inspector.preview.sample_view import PreviewPane, SampleView, read_debug_answer
from localcdap.tui.inspector.properties.controls import ValueArea
from localcdap.tui.inspector.properties.field_plan import FieldContext
from localcdap.tui.screens.runs.arguments import ask_arguments
from localcdap.tui.studio import Choice, StudioNode
from localcdap.tui.widgets.lines import CachedStatic

Upstream = tuple[Mapping[str, str], tuple[Any, ...], tuple[Any, ...]]
"""All that records from the stages before a stage depend on: arguments, the stages, the connections."""


@dataclass(frozen=True)
class _ReadText:
    """Records that were read, as text.

    :param upstream: the stages that they were read from, as they were then.
    """

    text: str
    upstream: Upstream


class DebugInputs:
    """The text of the input records of all stages of a pipeline, kept while the pipeline is open."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._texts: dict[tuple[str, str], str] = {}
        self._read: dict[tuple[str, str], _ReadText] = {}

    def get_text(self, stage: str, input: str) -> str:
        """Return the records of one input of a stage, as JSON or CSV."""
        return self._texts.get((stage, input), "")

    def set_text(self, stage: str, input: str, text: str) -> None:
        """Keep what the user typed."""
        self._texts[stage, input] = text

    def set_read(self, stage: str, input: str, records: list[Any]) -> None:
        """Keep records that were read from the stages before the stage."""
        text = format_records(records)
        self._texts[stage, input] = text
        self._read[stage, input] = _ReadText(text, self._describe_upstream(stage))

    def is_read(self, stage: str, input: str) -> bool:
        """Whether the records were read and not changed by the user since."""
        read = self._read.get((stage, input))
        return read is not None and read.text == self._texts.get((stage, input))

    def list_missing(self, stage: str, inputs: Iterable[str]) -> list[str]:
        """Return the inputs without records, and those read before a stage upstream was changed."""
        return [each for each in inputs if self._is_missing(stage, each)]

    def _is_missing(self, stage: str, input: str) -> bool:
        if not self.get_text(stage, input).strip():
            return True
        if not self.is_read(stage, input):
            return False
        return self._read[stage, input].upstream != self._describe_upstream(stage)

    def _describe_upstream(self, stage: str) -> Upstream:
        editor = self._editor
        connections = editor.document.connections
        found, new = set[str](), {stage}
        while new:
            found |= new
            new = {c.source for c in connections if c.target in found} - found
        names = sorted(found - {stage})
        return (
            dict(editor.arguments),
            tuple((name, editor.get_node(name)) for name in names),
            tuple(c for c in connections if c.target in found),
        )


_GENERATED: Final = 10
_MOST_TAKEN: Final = 100
"""The most input records that are filled in from another place, such as a preview."""
_READ_RECORDS: Final = 20
"""The most records that each source reads to get the input of a stage."""


class _Activity(NamedTuple):
    """:param since: when it began (``time.monotonic``)."""

    what: str
    since: float


_READ: Final[list[Any]] = []
"""Stands for records of the upstream stages, which are read when they are chosen."""


class DebugPane(StudioNode, Vertical):
    """Shows the input records of a stage above, and its output and error records below.

    The text of the input and the last result of each stage are kept while the pipeline is open.
    """

    DEFAULT_CSS = """
    DebugPane { height: 1fr; }
    DebugPane > .given { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    DebugPane > ValueArea, DebugPane > ValueArea.-textual-compact,
    DebugPane > ValueArea.-textual-compact:focus {
        height: 30%; min-height: 4; max-height: 30%;
    }
    DebugPane > .state { height: auto; padding: 0 1; }
    """

    class Ran(Message):
        """The stage has run."""

        def __init__(self, stage: str, answer: DebugAnswer) -> None:
            super().__init__()
            self.stage = stage
            self.answer = answer

    def __init__(self, editor: Editor, context: FieldContext, preview: PreviewPane) -> None:
        super().__init__()
        self._editor = editor
        self._known = context
        self._preview = preview
        self._stage: str | None = None
        self._input: str = ""
        self._texts = DebugInputs(editor)
        self._answers: dict[str, DebugAnswer] = {}
        self._errors: dict[str, LocalcdapError] = {}
        """By stage, why its last run has no result."""
        self._activities: dict[str, _Activity] = {}
        """By stage, what is being done for its run."""

    def compose(self) -> ComposeResult:
        yield CachedStatic(classes="given")
        yield ValueArea("", "json")
        yield CachedStatic(classes="state")
        yield SampleView()

    def on_mount(self) -> None:
        self.set_interval(1, self._tick)
        self._show()

    @property
    def answer(self) -> DebugAnswer | None:
        """The last result of the stage; None before its first run."""
        return self._answers.get(self._stage or "")

    @property
    def inputs(self) -> dict[str, Schema | None]:
        """The inputs of the stage; none for a source."""
        return self._known.inputs

    def show_stage(self, stage: str | None) -> None:
        """Show another stage, or the current inputs of the same stage."""
        if stage != self._stage:
            self._stage = stage
            self._input = next(iter(self.inputs), "")
            self._show()
        elif self._input not in self.inputs:
            self._input = next(iter(self.inputs), "")
            self._show_input()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self._stage is not None:
            self._texts.set_text(self._stage, self._input, event.text_area.text)
            self._show_origin()

    # -- running ---------------------------------------------------------------------------------

    @work
    async def run_stage(self) -> None:
        """Run the stage on the input records of the pane; without any, on those of the stages before it."""
        stage, inputs = self._stage, dict(self.inputs)
        if stage is None or stage in self._activities:
            return
        self._errors.pop(stage, None)
        self._begin(stage, "running")
        self.query_one(SampleView).hide_problems()
        try:
            if await self._read_missing(stage, inputs):
                request = self._build_request(stage, inputs)
                self._begin(stage, "running")
                answer = await self.call_and_wait(lambda cdap: cdap.debugging.debug(request))
                self._answers[stage] = answer
                self.post_message(self.Ran(stage, answer))
        except LocalcdapError as error:
            self._errors[stage] = error
            self._answers.pop(stage, None)
        finally:
            del self._activities[stage]
        if stage == self._stage:
            self._show()

    async def _read_missing(self, stage: str, inputs: Mapping[str, Schema | None]) -> bool:
        """Read the input records that nobody gave. False when the user does not give an argument for it.

        :raises LocalcdapError: when an upstream stage fails.
        """
        missing = self._texts.list_missing(stage, inputs)
        if inputs and not missing:
            return True
        if not await ask_arguments(self, self._editor, "Try"):
            return False
        upstream = self._create_upstream()
        for name in missing:
            self._begin(stage, f"reading records from '{name}'")
            records = await self.call_and_wait(
                lambda cdap, name=name: upstream.read_arriving(cdap, stage, name)  # type: ignore[misc]
            )
            self._texts.set_read(stage, name, records[:_MOST_TAKEN])
        return True

    def _build_request(self, stage: str, inputs: Mapping[str, Schema | None]) -> DebugRequest:
        given = []
        for name, schema in inputs.items():
            records = parse_records(self._texts.get_text(stage, name), schema)
            given.append(
                GivenRecords(name, records, schema.to_json() if schema is not None else None)
            )
        return DebugRequest(
            stage,
            given,
            self._editor.namespace,
            self._editor.arguments,
            document=self._editor.to_text(),
            records=_MOST_TAKEN,
        )

    def _begin(self, stage: str, what: str) -> None:
        """Show what is being done for the run of a stage from now on."""
        self._activities[stage] = _Activity(what, time.monotonic())
        self._tick()

    def _tick(self) -> None:
        activity = self._activities.get(self._stage or "")
        if activity is not None:
            seconds = int(time.monotonic() - activity.since)
            slow = "; Spark may be starting" if seconds > 3 else ""
            self._show_state(f"… {activity.what}, {seconds} s{slow}")

    # -- input records ---------------------------------------------------------------------------

    def select_next_input(self) -> None:
        """Show the next input of the stage."""
        names = list(self.inputs)
        if names:
            self._input = names[(names.index(self._input) + 1) % len(names)]
            self._show_input()

    @work
    async def choose_records(self) -> None:
        """Let the user choose where the input records come from, and fill them in."""
        choices = self._list_choices()
        if not choices:
            self._show_state("The stage has no input, so it needs no records.")
            return
        chosen = await self.studio.choose(choices, title="Run the stage on which records?")
        if chosen is None:
            return
        stage, input = self._stage, self._input
        records = await self._read_upstream(stage, input) if chosen is _READ and stage else chosen
        if records is not None and (stage, input) == (self._stage, self._input):
            self.set_records(records)

    def set_records(self, records: list[Any]) -> None:
        """Fill in the input records."""
        self.query_one(ValueArea).load_text(format_records(records[:_MOST_TAKEN]))

    async def read_samples(self) -> list[Any]:
        """Return records of the stage's first input: those in the pane, or else the output of its
        upstream stages.
        """
        stage = self._stage
        input = next(iter(self.inputs), None)
        if stage is None or input is None:
            return []
        try:
            typed = parse_records(self._texts.get_text(stage, input), self.inputs[input])
        except BadRequestError:
            typed = []
        return typed or await self._read_upstream(stage, input) or []

    async def _read_upstream(self, stage: str, input: str) -> list[Any] | None:
        """Run the upstream stages, and return the records that a stage gets from an input; None after a
        failure.
        """
        upstream = self._create_upstream()
        self._show_state(f"… reading records from '{input}'")
        try:
            records = await self.call_and_wait(
                lambda cdap: upstream.read_arriving(cdap, stage, input)
            )
        except LocalcdapError as error:
            self._show_state(error.message, error.corrective_action, is_wrong=True)
            return None
        self._show_state("" if records else f"'{input}' has no output records.")
        return records

    def _create_upstream(self) -> UpstreamRecords:
        editor = self._editor
        return UpstreamRecords(
            editor.document,
            editor.to_text(),
            namespace=editor.namespace,
            arguments=editor.arguments,
            records=_READ_RECORDS,
        )

    def _list_choices(self) -> list[Choice[list[Any]]]:
        found: list[Choice[list[Any]]] = []
        if self._input:
            label = f"output of '{self._input}', read now"
            found.append(Choice(label, _READ, f"at most {_READ_RECORDS} records of each source"))
        previewed = self._preview.get_records(self._input)
        if previewed:
            label = f"output of '{self._input}' in the preview"
            found.append(Choice(label, previewed, f"{len(previewed):,} records"))
        answer = self._answers.get(self._input)
        if answer is not None and answer.output is not None:
            records = answer.output.records
            label = f"output of '{self._input}' when it was last debugged"
            found.append(Choice(label, records, f"{len(records):,} records"))
        schema = self.inputs.get(self._input)
        if schema is not None:
            made = generate_records(schema, _GENERATED)
            found.append(Choice("records generated from the schema", made, f"{_GENERATED} records"))
            names = dict.fromkeys(schema.field_names)
            found.append(Choice("one empty record, for you to fill in", [names], "1 record"))
        return found

    def _show(self) -> None:
        if self.is_mounted:
            self._show_input()
            self._show_answer()

    def _show_input(self) -> None:
        area = self.query_one(ValueArea)
        area.put(self._texts.get_text(self._stage or "", self._input))
        area.display = bool(self.inputs)
        self._show_origin()

    def _show_origin(self) -> None:
        """Show where the input records come from."""
        if not self.inputs:
            text = "f9: read some records"
        else:
            others = f"  ({len(self.inputs)} inputs, alt+i: next)" if len(self.inputs) > 1 else ""
            stage, name = self._stage or "", self._input
            if self._texts.is_read(stage, name):
                how = "read from the stages before"
            elif self._texts.get_text(stage, name).strip():
                how = "JSON or CSV, f3 chooses others"
            else:
                how = "f9 reads, f3 chooses, or type JSON, CSV"
            text = f"records from '{name}': {how}{others}"
        given = self.query_one(".given", CachedStatic)
        given.update_if_changed(Content.styled(text, "$foreground 60%"))

    def _show_answer(self) -> None:
        view, answer = self.query_one(SampleView), self.answer
        error = self._errors.get(self._stage or "")
        self._show_state("")
        if answer is not None:
            view.show_result(read_debug_answer(answer))
        elif error is not None:
            view.show_note("The stage has no result.")
            self._show_state(error.message, error.corrective_action, is_wrong=True)
        else:
            view.show_note("The stage has not run on these records yet.")
        self._tick()

    def _show_state(
        self, message: str, action: str | None = None, *, is_wrong: bool = False
    ) -> None:
        lines = []
        if message:
            lines.append(
                Content.styled(
                    f"✗ {message}" if is_wrong else message, "$text-error" if is_wrong else "dim"
                )
            )
        if action:
            lines.append(Content(f"  {action}"))
        self.query_one(".state", CachedStatic).update_lines(lines)
