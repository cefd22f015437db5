"""Random edits: after each one a session says what a validation of its document from scratch says."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from localcdap.api.errors import ConflictError, DocumentError, LocalcdapError
from localcdap.pipeline.editing.edits import (
    AddStage,
    CompoundEdit,
    Connect,
    Disconnect,
    DuplicateStage,
    Edit,
    Redo,
    RemoveStage,
    RenameStage,
    SetNote,
    SetPlugin,
    SetProperties,
    SetProperty,
    SetSetting,
    Undo,
)
from localcdap.pipeline.editing.service import OpenRequest
from tests.pipeline.editing.sessions import Bench, InProcess
from tests.pipeline.json_documents import JSON, changed_pipelines
from tests.pipeline.pipelines import PLUGINS, config, record, stage

NAMES = st.sampled_from("abcdefgh")
KINDS = st.sampled_from([*PLUGINS, "bogus", "windower"])
PORTS = st.sampled_from([None, None, "A", "B", "C"])
LABELS = st.sampled_from([None, None, "true", "false"])
PROPERTIES = st.sampled_from(
    [
        ("field", "x"),
        ("field", "y"),
        ("note", "${open}"),
        ("note", "${"),
        ("engine", "1"),
        ("engine", "2"),
        ("schema", record("x")),
        ("schema", record("x", "y")),
        ("schema", "no schema"),
        ("path", "bad"),
        ("needed", "1"),
        ("nedded", "1"),
        ("output", record("z")),
        ("field", None),
        ("schema", None),
        ("engine", 5),
    ]
)
SHARED = InProcess()


class Editing(RuleBasedStateMachine):
    """A session beside validation from scratch, and the documents to go back to."""

    @initialize()
    def open(self) -> None:
        document = config(
            "source:a transform:b split:c sink:d if:e",
            "a>b b>c c.A>e e?true>d",
            a={"schema": record("x", "y")},
        )
        self.bench = Bench(document, SHARED)
        self.past: list[Any] = [json.loads(self.bench.text())]
        self.future: list[Any] = []

    def edit(self, edit: Edit) -> None:
        before = self.bench.text()
        try:
            self.bench.apply(edit)
        except LocalcdapError:
            assert self.bench.text() == before
            return
        self.past.append(json.loads(self.bench.text()))
        self.future.clear()

    @rule(stage=NAMES, property=PROPERTIES)
    def set_property(self, stage: str, property: tuple[str, Any]) -> None:
        self.edit(SetProperty(stage, *property))

    @rule(stage=NAMES, properties=st.lists(PROPERTIES, max_size=2).map(dict))
    def set_properties(self, stage: str, properties: dict[str, Any]) -> None:
        self.edit(SetProperties(stage, properties))

    @rule(stage=NAMES, kind=KINDS, version=st.sampled_from([None, None, "1.0.0", "9.0.0", "no"]))
    def set_plugin(self, stage: str, kind: str, version: str | None) -> None:
        type, name = PLUGINS.get(kind, (kind, "Any"))
        self.edit(SetPlugin(stage, type, name, version and {"version": version}))

    @rule(stage=NAMES, text=st.sampled_from([None, "", "why"]))
    def set_note(self, stage: str, text: str | None) -> None:
        self.edit(SetNote(stage, text))

    @rule(name=NAMES, kind=KINDS, post_action=st.sampled_from([False, False, True]))
    def add(self, name: str, kind: str, post_action: bool) -> None:
        self.edit(AddStage(stage(kind, name), post_action))

    @rule(node=JSON)
    def add_anything(self, node: Any) -> None:
        self.edit(AddStage(node if isinstance(node, dict) else {"name": "h", "plugin": node}))

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.edit(RemoveStage(name))

    @rule(name=NAMES, other=NAMES)
    def rename(self, name: str, other: str) -> None:
        if name != other:
            self.edit(RenameStage(name, other))

    @rule(name=NAMES, other=NAMES)
    def duplicate(self, name: str, other: str) -> None:
        self.edit(DuplicateStage(name, other))

    @rule(start=NAMES, end=NAMES, port=PORTS, label=LABELS)
    def connect(self, start: str, end: str, port: str | None, label: str | None) -> None:
        self.edit(Connect(start, end, port, label))

    @rule(start=NAMES, end=NAMES)
    def disconnect(self, start: str, end: str) -> None:
        self.edit(Disconnect(start, end))

    @rule(a=NAMES, b=NAMES, c=NAMES)
    def insert(self, a: str, b: str, c: str) -> None:
        self.edit(CompoundEdit([Disconnect(a, b), Connect(a, c), Connect(c, b)]))

    @rule(value=JSON, key=st.sampled_from(["engine", "properties", "resources", "extra", "name"]))
    def set_setting(self, key: str, value: Any) -> None:
        self.edit(SetSetting(key, value))

    @rule(app=st.sampled_from(["cdap-data-streams", "cdap-data-pipeline"]))
    def batch_interval(self, app: str) -> None:
        self.edit(SetSetting("batchInterval", "10s" if app == "cdap-data-streams" else None))

    @rule()
    def undo(self) -> None:
        try:
            self.bench.apply(Undo())
        except ConflictError:
            assert len(self.past) == 1
            return
        self.future.append(self.past.pop())

    @rule()
    def redo(self) -> None:
        try:
            self.bench.apply(Redo())
        except ConflictError:
            assert not self.future
            return
        self.past.append(self.future.pop())

    @invariant()
    def says_what_validation_says(self) -> None:
        if not hasattr(self, "bench"):
            return
        assert json.dumps(json.loads(self.bench.text())) == json.dumps(self.past[-1])
        self.bench.check()


TestEditing = Editing.TestCase
TestEditing.settings = settings(max_examples=8, stateful_step_count=20, deadline=None)


@settings(max_examples=100, deadline=None)
@given(JSON | changed_pipelines(), st.lists(st.tuples(NAMES, PROPERTIES), max_size=3))
def test_any_json_can_be_opened_and_edited(document: Any, edits: list[Any]):
    try:
        bench = Bench(document, SHARED)
    except DocumentError:
        return
    bench.check()
    assert json.dumps(json.loads(bench.text())) == json.dumps(document)
    for name, property in edits:
        try:
            bench.apply(SetProperty({"a": "s", "b": "t"}.get(name, name), *property))
        except LocalcdapError:
            continue
        bench.check()


def test_a_session_is_opened_by_text_or_by_value():
    bench = Bench(json.dumps(config("source:s", "")))
    assert bench.service.open(OpenRequest(config("source:s", ""))).change.errors == bench.errors
