"""A stage tried on some records."""

from __future__ import annotations

import time
from typing import Any, Final

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.api.schema import Schema
from localcdap.host.cdap import Cdap
from localcdap.runs.debug.model import DebugAnswer, DebugRequest, GivenRecords
from localcdap.tui.document.editor import Editor
from localcdap.tui.inspector.context import FieldContext
from localcdap.tui.inspector.preview.preview_pane import PreviewPane
from localcdap.tui.inspector.preview.sample_input import (
    format_records,
    generate_records,
    parse_records,
)
from localcdap.tui.inspector.preview.sample_view import SampleView, read_debug_answer
from localcdap.tui.inspector.preview.upstream import UpstreamRecords
from localcdap.tui.inspector.properties.controls import ValueArea
from localcdap.tui.studio import Choice, StudioNode
from localcdap.tui.widgets.cached_static import CachedStatic

_GENERATED: Final = 10
_MOST_TAKEN: Final = 100
"""Records that are taken over from elsewhere."""
_READ_RECORDS: Final = 20
"""Records that are read from a source to try the stages behind it."""
_READ: Final[list[Any]] = []
"""Stands for records that are still to be read."""


class DebugPane(StudioNode, Vertical):
    """Records in above, records and errors out below.

    What is typed for a stage, and what its last trial gave, stay while the pipeline is open.
    """

    DEFAULT_CSS = """
    DebugPane { height: 1fr; }
    DebugPane > .given { height: 1; padding: 0 1; }
    DebugPane > ValueArea, DebugPane > ValueArea.-textual-compact,
    DebugPane > ValueArea.-textual-compact:focus {
        height: 30%; min-height: 4; max-height: 30%;
    }
    DebugPane > .state { height: auto; padding: 0 1; }
    """

    class Ran(Message):
        """A trial ended."""

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
        self._typed: dict[tuple[str, str], str] = {}
        """Texts by stage and input."""
        self._answers: dict[str, DebugAnswer] = {}
        self._started: float | None = None

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
        """What the last trial of the stage gave."""
        return self._answers.get(self._stage or "")

    @property
    def inputs(self) -> dict[str, Schema | None]:
        """The inputs of the stage; none for a source."""
        return self._known.inputs

    def show_stage(self, stage: str | None) -> None:
        """Go on with another stage, or with the inputs that this one has now."""
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
            self._typed[self._stage, self._input] = event.text_area.text

    # -- trying ------------------------------------------------------------------------------------

    def try_stage(self) -> None:
        """Try the stage on the records above."""
        stage = self._stage
        if stage is None or self._started is not None:
            return
        try:
            request = self._request(stage)
        except BadRequestError as error:
            self._say(error.message, error.corrective_action, is_wrong=True)
            return
        self._started = time.monotonic()
        self._tick()

        def ask(cdap: Cdap) -> DebugAnswer:
            return cdap.debugging.debug(request)

        self.call(ask, lambda answer: self._take(stage, answer), on_error=self._show_error)

    def _request(self, stage: str) -> DebugRequest:
        given = []
        for name, schema in self.inputs.items():
            records = parse_records(self._typed.get((stage, name), ""), schema)
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

    def _take(self, stage: str, answer: DebugAnswer) -> None:
        self._started = None
        self._answers[stage] = answer
        self.post_message(self.Ran(stage, answer))
        if stage == self._stage:
            self._show_answer()

    def _show_error(self, error: LocalcdapError) -> None:
        self._started = None
        self._say(error.message, error.corrective_action, is_wrong=True)

    def _tick(self) -> None:
        if self._started is not None:
            seconds = int(time.monotonic() - self._started)
            slow = "; the engine is being started" if seconds > 3 else ""
            self._say(f"… trying, {seconds} s{slow}")

    # -- records to try it on --------------------------------------------------------------------------

    def next_input(self) -> None:
        """Go on with the next input of the stage."""
        names = list(self.inputs)
        if names:
            self._input = names[(names.index(self._input) + 1) % len(names)]
            self._show_input()

    @work
    async def choose_records(self) -> None:
        """Take records from elsewhere."""
        choices = self._sources()
        if not choices:
            self._say("There is nothing to take records from: the stage has no input.")
            return
        chosen = await self.studio.choose(choices, title="Which records to try it on?")
        if chosen is None:
            return
        stage, input = self._stage, self._input
        records = await self._read(stage, input) if chosen is _READ and stage else chosen
        if records is not None and (stage, input) == (self._stage, self._input):
            self.set_records(records)

    def set_records(self, records: list[Any]) -> None:
        """Try it on these records."""
        self.query_one(ValueArea).load_text(format_records(records[:_MOST_TAKEN]))

    async def read_samples(self) -> list[Any]:
        """Records of the stage's first input: those that are typed here, or what comes from before it now."""
        stage = self._stage
        input = next(iter(self.inputs), None)
        if stage is None or input is None:
            return []
        try:
            typed = parse_records(self._typed.get((stage, input), ""), self.inputs[input])
        except BadRequestError:
            typed = []
        return typed or await self._read(stage, input) or []

    async def _read(self, stage: str, input: str) -> list[Any] | None:
        """What comes to a stage from an input when all before it is tried; None when that fails."""
        editor = self._editor
        upstream = UpstreamRecords(
            editor.document,
            editor.to_text(),
            namespace=editor.namespace,
            arguments=editor.arguments,
            records=_READ_RECORDS,
        )
        self._say(f"… reading what comes from '{input}'")
        try:
            records = await self.call_and_wait(
                lambda cdap: upstream.read_arriving(cdap, stage, input)
            )
        except LocalcdapError as error:
            self._say(error.message, error.corrective_action, is_wrong=True)
            return None
        self._say("" if records else f"Nothing comes from '{input}'.")
        return records

    def _sources(self) -> list[Choice[list[Any]]]:
        found: list[Choice[list[Any]]] = []
        if self._input:
            label = f"what comes from '{self._input}' now"
            found.append(Choice(label, _READ, f"at most {_READ_RECORDS} of each source"))
        previewed = self._preview.records_of(self._input)
        if previewed:
            label = f"what left '{self._input}' in the preview"
            found.append(Choice(label, previewed, f"{len(previewed):,} records"))
        answer = self._answers.get(self._input)
        if answer is not None and answer.output is not None:
            records = answer.output.records
            label = f"what the last trial of '{self._input}' gave"
            found.append(Choice(label, records, f"{len(records):,} records"))
        schema = self.inputs.get(self._input)
        if schema is not None:
            made = generate_records(schema, _GENERATED)
            found.append(Choice("records made up from the schema", made, f"{_GENERATED} records"))
            names = dict.fromkeys(schema.field_names)
            found.append(Choice("one empty record, to be filled in", [names], "1 record"))
        return found

    def _show(self) -> None:
        if self.is_mounted:
            self._show_input()
            self._show_answer()

    def _show_input(self) -> None:
        area, given = self.query_one(ValueArea), self.query_one(".given", CachedStatic)
        area.put(self._typed.get((self._stage or "", self._input), ""))
        area.display = bool(self.inputs)
        if not self.inputs:
            given.update_if_changed(Content.styled("f9 reads some records", "$foreground 60%"))
            return
        others = f"  ({len(self.inputs)} inputs, alt+i the next)" if len(self.inputs) > 1 else ""
        text = f"records from '{self._input}': JSON or CSV, f3 takes some{others}"
        given.update_if_changed(Content.styled(text, "$foreground 60%"))

    def _show_answer(self) -> None:
        view, answer = self.query_one(SampleView), self.answer
        self._say("")
        if answer is None:
            view.show_note("Nothing tried yet.")
        else:
            view.show_result(read_debug_answer(answer))

    def _say(self, message: str, action: str | None = None, *, is_wrong: bool = False) -> None:
        lines = []
        if message:
            lines.append(
                Content.styled(
                    f"✗ {message}" if is_wrong else message, "$text-error" if is_wrong else "dim"
                )
            )
        if action:
            lines.append(Content.styled(f"  {action}", "$foreground 60%"))
        self.query_one(".state", CachedStatic).update_lines(lines)
