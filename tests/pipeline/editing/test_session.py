"""Editing sessions: what each edit answers, what is kept of the document, and plugins that take long."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter

import msgspec
import pytest

from localcdap.api.errors import BadRequestError, ConflictError, DocumentError, NotFoundError
from localcdap.api.schema import Schema
from localcdap.api.serialization.value_types import encode_schema, pack, unpack
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
    SetExpectations,
    SetNote,
    SetPlugin,
    SetProperties,
    SetProperty,
    SetSetting,
    Undo,
)
from localcdap.pipeline.editing.incremental_validator import EditResult
from localcdap.pipeline.editing.service import EditingService, OpenRequest
from localcdap.pipeline.macros.evaluation import Secrets
from localcdap.sandbox.pool import PluginWorker, PluginWorkers
from localcdap.sandbox.stage_configuration import (
    ConfigureRequest,
    ConfigureResult,
    configure_stage,
)
from tests.pipeline.editing.sessions import Bench, InProcess
from tests.pipeline.pipelines import config, record, stage
from tests.pipeline.shelf import create_resolver

ABC = {"schema": record("a", "b", "c")}
XY = {"schema": record("x", "y")}


def small() -> dict:
    return config("source:s transform:t transform:u sink:z", "s>t t>u u>z", s=ABC, t={"field": "a"})


@pytest.fixture
def bench() -> Bench:
    return Bench(small())


def test_opening_returns_everything(bench):
    assert bench.last.valid
    assert bench.errors == []
    assert list(bench.stages) == ["s", "t", "u", "z"]
    assert bench.stages["u"].input_schemas == {"t": Schema.parse(ABC["schema"])}
    assert bench.stages["s"].artifact.name == "mock-plugins"
    bench.check()


def test_an_edit_answers_what_changed_and_no_more(bench):
    change = bench.apply(SetProperty("t", "field", "q"))
    assert list(change.stages) == ["t"]
    assert change.errors is None
    assert [f.field for f in change.stages["t"].errors] == ["field"]
    assert not change.valid
    bench.check()


def test_only_the_edited_stage_is_asked(bench):
    bench.workers.calls.clear()
    bench.apply(SetProperty("u", "note", "n"))
    assert bench.workers.calls == ["u"]
    bench.apply(SetProperty("s", "schema", XY["schema"]))
    assert bench.workers.calls == ["u", "s", "t", "u", "z"]
    assert bench.stages["z"].input_schemas["u"].field_names == ["x", "y"]
    bench.check()


def test_an_edit_that_is_taken_back_asks_nobody(bench):
    before = json.loads(bench.text())
    bench.apply(SetProperty("s", "schema", XY["schema"]))
    bench.workers.calls.clear()
    assert bench.apply(Undo()).can_redo
    assert bench.workers.calls == []
    assert json.loads(bench.text()) == before
    bench.check()
    bench.apply(Redo())
    assert bench.stages["z"].input_schemas["u"].field_names == ["x", "y"]
    bench.check()
    bench.apply(Undo())
    bench.apply(SetProperty("t", "note", "n"))
    with pytest.raises(ConflictError, match="nothing to redo"):
        bench.apply(Redo())
    bench.apply(Undo())
    with pytest.raises(ConflictError, match="nothing to undo"):
        bench.apply(Undo())


def test_what_is_typed_into_one_property_is_undone_as_one(bench):
    bench.apply(SetProperty("t", "note", "a"))
    bench.apply(SetProperty("t", "note", "ab", continues=True))
    bench.apply(SetProperty("t", "note", "abc", continues=True))
    bench.apply(SetProperty("u", "note", "x", continues=True))  # of another stage: not the same
    bench.apply(Undo())
    assert '"abc"' in bench.text()
    bench.apply(Redo())
    bench.apply(SetProperty("u", "note", "xy", continues=True))  # not after going back and forth
    bench.apply(Undo())
    assert '"x"' in bench.text()
    bench.apply(Undo())
    bench.apply(Undo())
    assert json.loads(bench.text()) == small()
    assert not bench.last.can_undo
    bench.check()


def test_stages_are_added_connected_renamed_and_removed(bench):
    bench.apply(AddStage({**stage("sink", "z2"), "icon": "x"}))
    assert "Stage z2 is unreachable, it has no incoming connections." in bench.messages()
    bench.check()
    assert bench.apply(Connect("u", "z2")).valid
    bench.apply(RenameStage("u", "middle"))
    assert bench.last.removed == ["u"]
    assert list(bench.stages["z2"].input_schemas) == ["middle"]
    bench.check()
    bench.apply(DuplicateStage("middle"))
    assert "middle 2" in bench.stages
    bench.check()
    bench.apply(RemoveStage("middle 2"))
    bench.apply(Disconnect("middle", "z2"))
    bench.apply(RemoveStage("z2"))
    assert bench.last.valid
    bench.check()
    assert json.loads(bench.text())["connections"] == [
        {"from": "s", "to": "t"},
        {"from": "t", "to": "middle"},
        {"from": "middle", "to": "z"},
    ]


def test_ports_and_conditions(bench):
    bench.apply(AddStage(stage("split", "p")))
    bench.apply(AddStage(stage("if", "c")))
    bench.apply(Disconnect("u", "z"))
    bench.apply(
        CompoundEdit([Connect("u", "p"), Connect("p", "c", "A"), Connect("c", "z", None, "true")])
    )
    assert bench.last.valid
    assert bench.stages["z"].input_schemas["c"] == Schema.parse(ABC["schema"])
    bench.check()
    bench.apply(Connect("p", "c", "B"))
    assert "Cannot have different input schemas going into stage c" in bench.messages()
    bench.check()
    bench.apply(Disconnect("p", "c", "B"))
    assert bench.last.valid
    bench.apply(CompoundEdit([Disconnect("c", "z"), Connect("c", "z")]))
    assert any("is not marked with either" in message for message in bench.messages())
    bench.check()


def test_a_note_stands_in_the_stage_and_nowhere_else(bench):
    before = bench.service.get_document(bench.id)
    bench.apply(SetNote("t", "Why it is here."))
    noted = json.loads(bench.service.get_document(bench.id))
    assert [s["name"] for s in noted["stages"] if s.get("description") == "Why it is here."] == [
        "t"
    ]
    assert bench.last.stages == {}
    bench.apply(SetNote("t"))
    assert json.loads(bench.service.get_document(bench.id)) == json.loads(before)
    with pytest.raises(NotFoundError):
        bench.apply(SetNote("nobody", "x"))


def test_rules_are_set_and_validated(bench):
    before = bench.service.get_document(bench.id)
    bench.apply(SetExpectations("t", [{"rule": "not-null", "column": "a"}]))
    ruled = json.loads(bench.service.get_document(bench.id))["stages"]
    assert [each["name"] for each in ruled if "expectations" in each] == ["t"]
    assert bench.last.valid
    bench.check()
    bench.apply(SetExpectations("t", [{"rule": "not-null", "column": "nowhere"}]))
    assert any("There is no column 'nowhere'" in message for message in bench.messages())
    bench.check()
    bench.apply(SetExpectations("t"))
    assert json.loads(bench.service.get_document(bench.id)) == json.loads(before)
    assert bench.last.valid


def test_plugins_properties_and_settings(bench):
    bench.apply(SetPlugin("t", "transform", "Strict"))
    assert [f.field for f in bench.stages["t"].errors] == ["needed"]
    assert [w.field for w in bench.stages["t"].warnings] == ["field"]
    bench.check()
    bench.apply(SetProperties("t", {"needed": "1"}))
    bench.apply(SetPlugin("u", "transform", "Pass", {"name": "none", "version": "1.0.0"}))
    assert bench.stages["u"].errors[0].type == "Artifact Not Found"
    bench.check()
    bench.apply(Undo())
    bench.apply(SetSetting("properties", {"system.mapreduce.p": "1"}))
    bench.apply(SetSetting("engine", "spark"))
    bench.apply(SetSetting("name", "p1"))
    bench.check()
    bench.apply(
        CompoundEdit([SetProperty("t", "engine", "1"), SetPlugin("t", "transform", "Pass")])
    )
    bench.apply(SetProperty("u", "engine", "2"))
    assert "is being set to different values by stages" in bench.errors[0].message
    bench.check()
    kept = json.loads(bench.text())
    assert (kept["engine"], kept["name"]) == ("spark", "p1")
    bench.apply(SetSetting("engine"))
    assert "engine" not in json.loads(bench.text())


def test_post_actions_are_edited_too(bench):
    bench.apply(AddStage(stage("mail", "m"), post_action=True))
    assert [f.field for f in bench.stages["m"].errors] == ["to"]
    bench.check()
    assert bench.apply(SetProperty("m", "to", "me")).valid
    with pytest.raises(BadRequestError, match="cannot be connected"):
        bench.apply(Connect("z", "m"))
    bench.apply(RemoveStage("m"))
    bench.check()


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (SetProperty("q", "x", "1"), NotFoundError),
        (RemoveStage("q"), NotFoundError),
        (RenameStage("s", "t"), ConflictError),
        (RenameStage("s", ""), BadRequestError),
        (AddStage({"name": "t"}), ConflictError),
        (AddStage({"plugin": {}}), BadRequestError),
        (DuplicateStage("s", "t"), ConflictError),
        (Connect("s", "t"), ConflictError),
        (Connect("s", "q"), NotFoundError),
        (Disconnect("s", "z"), NotFoundError),
        (SetSetting("stages", []), BadRequestError),
        (SetProperty("t", "field", "\ud800"), BadRequestError),
        (SetSetting("config", {"stages": 1}), None),
        (CompoundEdit([SetProperty("t", "note", "x"), RemoveStage("q")]), NotFoundError),
        (CompoundEdit([Undo()]), BadRequestError),
    ],
)
def test_edits_that_cannot_be_made_change_nothing(bench, edit, error):
    before = bench.text()
    if error is None:
        bench.apply(edit)
        bench.check()
        return
    with pytest.raises(error):
        bench.apply(edit)
    assert bench.text() == before
    assert not bench.apply(SetProperty("t", "note", "x")).can_redo
    bench.check()


# -- the document ----------------------------------------------------------------------------


def test_everything_of_the_document_survives():
    document = {
        "unknown": [1.5, None, {"a": 10**30}],
        "artifact": {"name": "cdap-data-pipeline", "version": "6.0.0", "scope": "SYSTEM"},
        "config": {**small(), "comments": [{"content": "hi"}]},
    }
    document["config"]["stages"][1]["_uiPosition"] = {"left": "1px"}
    document["config"]["stages"][1]["plugin"]["label"] = "label"
    text = json.dumps(document, indent=7)
    bench = Bench(text)
    assert bench.text() == text
    bench.apply(SetProperty("t", "note", "n"))
    document["config"]["stages"][1]["plugin"]["properties"]["note"] = "n"
    assert json.loads(bench.text()) == document
    assert bench.apply(Undo()).revision > 0
    assert bench.text() == text


def test_a_configuration_that_is_text_stays_text():
    bench = Bench({"name": "app", "configuration": json.dumps(small())})
    bench.apply(SetProperty("t", "note", "n"))
    changed = json.loads(bench.text())
    assert json.loads(changed["configuration"])["stages"][1]["plugin"]["properties"]["note"] == "n"
    bench.check()


def test_a_pipeline_of_cdap_3_is_edited_in_the_form_of_cdap_6():
    legacy = {
        "source": {"name": "Source", "plugin": {"name": "Source", "properties": ABC}},
        "transforms": [{"name": "T", "plugin": {"name": "Pass", "properties": {}}}],
        "sinks": [{"name": "Z", "plugin": {"name": "Sink", "properties": {}}}],
        "schedule": "* * * * *",
    }
    bench = Bench(json.dumps(legacy))
    assert json.loads(bench.text()) == legacy
    bench.apply(SetProperty("T", "note", "n"))
    changed = json.loads(bench.text())
    assert [node["name"] for node in changed["stages"]] == ["Source", "T", "Z"]
    assert "source" not in changed
    assert changed["schedule"] == "* * * * *"
    assert bench.last.valid
    bench.check()


def test_streaming_pipelines_can_be_edited_but_not_validated():
    bench = Bench({"artifact": {"name": "cdap-data-streams"}, "config": small()})
    bench.apply(SetProperty("t", "field", "q"))
    assert [m for m in bench.messages() if "Streaming pipelines" in m]
    bench.check()


# -- the service -----------------------------------------------------------------------------


def test_edits_are_read_from_json():
    text = b'{"edit": "connect", "from": "a", "to": "b", "port": "p"}'
    assert msgspec.json.decode(text, type=Edit) == Connect("a", "b", "p")
    added = b'{"edit": "add-stage", "stage": {}, "postAction": true}'
    text = b'{"edit": "together", "edits": [{"edit": "undo"}, ' + added + b"]}"
    assert msgspec.json.decode(text, type=Edit) == CompoundEdit([Undo(), AddStage({}, True)])


def test_changes_cross_processes(bench):
    change = bench.apply(SetProperty("t", "field", "q"))
    assert unpack(pack(change), EditResult) == change
    shown = json.loads(msgspec.json.encode(change, enc_hook=encode_schema))
    assert shown["stages"]["t"]["inputSchemas"]["s"]["fields"][0]["name"] == "a"


def test_who_waits_hears_of_edits_of_others(bench):
    received, revision = [], bench.revision
    thread = threading.Thread(
        target=lambda: received.append(bench.service.get_changes(bench.id, revision, 60))
    )
    thread.start()
    time.sleep(0.05)  # it waits already; were it late, it would learn of the edit too
    bench.apply(SetProperty("t", "field", "q"))
    thread.join(60)
    assert "t" in received[0].stages
    assert bench.service.get_changes(bench.id, bench.revision, 0).stages == {}


def test_closed_sessions_are_gone_and_wake_who_waits(bench):
    thread = threading.Thread(
        target=lambda: bench.service.get_changes(bench.id, bench.revision, 30)
    )
    thread.start()
    time.sleep(0.05)
    bench.service.close(bench.id)
    thread.join(60)
    assert not thread.is_alive()
    with pytest.raises(NotFoundError, match="Open the pipeline again|no editing session"):
        bench.service.apply(bench.id, Undo())
    bench.service.close(bench.id)


def test_what_is_no_pipeline_cannot_be_opened(bench):
    with pytest.raises(DocumentError):
        bench.service.open(OpenRequest("[]"))


def test_preferences_and_secrets():
    preferences = {"field": "q"}
    bench = Bench(
        config("source:s transform:t sink:z", "s>t t>z", s=ABC, t={"note": "${field}"}),
        preferences=lambda namespace, pipeline: preferences,
        secrets=lambda namespace: Secrets(lambda key: "hunter2"),
    )
    bench.apply(SetPlugin("t", "transform", "Quote"))
    bench.apply(SetProperties("t", {"text": "${field}"}))
    assert "'q' is wrong." in bench.messages()
    preferences["field"] = "r"
    bench.service.refresh(bench.id)
    bench.wait()
    assert "'r' is wrong." in bench.messages()
    bench.apply(SetProperty("t", "text", "${secure(k)}"))
    assert "'********' is wrong." in bench.messages()
    bench.check()


# -- plugins that take long ------------------------------------------------------------------


@pytest.fixture
def workers():
    workers = PluginWorkers(time_limit_s=100, memory_mb=1024)
    with contextlib.closing(workers):
        yield workers


def test_a_hanging_plugin_holds_up_only_its_stage(workers, tmp_path):
    bench = Bench(small(), workers)
    bench.check()
    end = tmp_path / "end"
    slow = [SetPlugin("u", "transform", "Slow"), SetProperty("u", "until", str(end))]
    change = bench.apply(CompoundEdit(slow), 0.05)
    assert change.stages["u"].checking
    assert not change.valid
    for number in range(5):
        assert "t" not in bench.apply(SetProperty("t", "note", str(number))).checking
    bench.apply(SetProperty("z", "path", "${"), 0.05)
    while "z" in bench.last.checking:  # for half a second it waits for what comes before it
        bench.next()
    assert bench.last.checking == ["u"]
    assert [f.field for f in bench.stages["z"].errors] == ["path"]
    end.touch()
    bench.wait()
    assert bench.last.checking == []
    bench.check()


def _limited(worker: PluginWorker, time_limit_s: float) -> PluginWorker:
    worker._time_limit_s = time_limit_s
    return worker


def test_a_plugin_that_does_not_come_to_an_end_is_a_failure_of_its_stage(workers, monkeypatch):
    bench = Bench(small(), workers)
    make = workers._new
    for worker in workers._idle:
        monkeypatch.setattr(worker, "_time_limit_s", 1.0)
    # A busy machine lets the pool add a worker, which must have the same limit.
    monkeypatch.setattr(workers, "_new", lambda: _limited(make(), 1.0))
    bench.apply(SetPlugin("u", "transform", "Slow"))
    assert "did not finish within 1 s" in bench.stages["u"].errors[0].message
    assert "is unknown because stage 'u' is invalid" in bench.stages["z"].errors[-1].message
    bench.check()


class Forgetful(InProcess):
    """Workers whose processes are damaged by every plugin: no result is remembered."""

    def configure(self, request: ConfigureRequest) -> ConfigureResult:
        self.calls.append(request.stage)
        return configure_stage(request)


def test_results_that_are_not_remembered_are_asked_once():
    """On a cycle all stages are configured again whenever one of them has changed."""
    wiring = "s>t t>u u>t u>z"
    document = config("source:s transform:t transform:u sink:z", wiring, s=ABC, t={"field": "a"})
    bench = Bench(document, Forgetful())
    for name in ("m", "n"):
        bench.apply(AddStage(stage("mail", name, to="me"), post_action=True))
    bench.wait()

    asked = Counter(bench.workers.calls)
    assert max(asked.values()) <= 3, asked


def test_real_workers_report_the_same(workers):
    bench = Bench(small(), workers)
    bench.apply(SetProperty("s", "schema", XY["schema"]))
    assert [f.field for f in bench.stages["t"].errors] == ["field"]
    bench.apply(SetProperty("t", "field", "x"))
    assert bench.last.valid
    bench.check()


def test_sessions_that_nobody_uses_are_closed(monkeypatch):
    bench = Bench(small())
    monkeypatch.setattr("localcdap.pipeline.editing.service._UNUSED_S", 0.0)
    bench.service.open(OpenRequest(small()))
    with pytest.raises(NotFoundError):
        bench.service.get_document(bench.id)


def test_many_sessions_at_once():
    service = EditingService(create_resolver().environments, Bench(small()).workers)
    keys = [service.open(OpenRequest(small())).id for _ in range(20)]

    def work(key: str) -> None:
        for number in range(20):
            service.apply(key, SetProperty("t", "note", str(number)))

    threads = [threading.Thread(target=work, args=(key,)) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for key in keys:
        assert (
            json.loads(service.get_document(key))["stages"][1]["plugin"]["properties"]["note"]
            == "19"
        )
        assert service.wait_until_checked(key).valid
