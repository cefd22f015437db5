"""Secrets, broken files, two processes at once, and processes that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from localcdap.api.app.connections import Connection, ConnectionPlugin
from localcdap.api.errors import ConflictError, NotFoundError
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.pipeline.library.application_model import DraftRequest
from localcdap.sync.merge import Side
from localcdap.sync.model import SyncDirection
from localcdap.sync.synchronizer import Synchronizer
from tests.sync.workplace import make_pipeline

SECRET = "hunter2-plain"


def make_database_draft(value, plugin="Postgres", property="password"):
    document = make_pipeline("db")
    document["config"]["stages"][0]["plugin"] = {
        "name": plugin,
        "type": "batchsource",
        "properties": {"connectionString": "jdbc:postgresql://h/d", property: value},
    }
    return document


def texts(folder):
    return "".join(each.read_text() for each in folder.rglob("*.json"))


def test_a_secret_of_a_plugin_gets_into_no_file(side):
    found = [
        ("Postgres", "password", SECRET),
        ("NotInstalled", "apiToken", SECRET),
        ("NotInstalled", "account", json.dumps({"private_key": SECRET})),
        ("NotInstalled", "connectionString", f"jdbc:x://joe:{SECRET}@h/d"),
        ("Postgres", "connectionString", f"jdbc:postgresql://h/d?user=joe&password={SECRET}"),
    ]
    for plugin, property, value in found:
        document = make_database_draft(value, plugin, property)
        draft = side.cdap.drafts.save("default", DraftRequest(document), "x")

        (problem,) = side.plan().problems
        assert f"stage 'read', property '{property}'" in problem.message
        assert "localcdap secrets put" in problem.corrective_action
        side.write("drafts/db.json", document | {"id": draft.id})
        (read,) = side.plan().problems
        line = (side.folder / "drafts/db.json").read_text().splitlines()[read.line - 1]
        assert f'"{property}"' in line
        assert SECRET not in f"{problem} {read}"
        (side.folder / "drafts/db.json").unlink()
    assert side.names() == []


def test_macros_and_flags_are_no_secrets(side):
    document = make_database_draft("${secure(db-password)}")
    properties = document["config"]["stages"][0]["plugin"]["properties"]
    properties |= {"connectionString": "jdbc:postgresql://h/d?password=${secure(k)}", "user": "joe"}
    document["config"]["stages"][1]["plugin"] = {
        "name": "NotInstalled",
        "type": "batchsink",
        "properties": {"columnToBeTokenized": "text", "outputJson": "{}", "useSecret": "false"},
    }
    side.cdap.drafts.save("default", DraftRequest(document))
    side.cdap.secure_keys.put("default", "db-password", SECRET)

    side.sync()

    assert side.names() == ["drafts/db.json"]
    assert SECRET not in texts(side.folder)


def test_secrets_of_connections_and_preferences_get_into_no_file(side):
    plugin = ConnectionPlugin("PostgreSQL", properties={"password": SECRET, "host": "h"})
    side.cdap.connections.put("default", Connection("db", "PostgreSQL", plugin))
    side.sync()
    assert "${secure(connection-db-password)}" in texts(side.folder)
    assert SECRET not in texts(side.folder)

    side.cdap.preferences.replace(PreferenceLevel("default"), {"db.password": SECRET})

    (problem,) = side.plan().problems
    assert "preference 'db.password'" in problem.message
    assert SECRET not in problem.message


def test_all_that_is_wrong_with_files_is_said_at_once_and_nothing_is_done(side):
    side.deploy(make_pipeline())
    side.sync()
    good = (side.folder / "pipelines/orders.json").read_text()
    broken = {
        "pipelines/a.json": ('{\n  "name": "a",\n}', 3, "is not valid JSON"),
        "pipelines/b.json": ("<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n", 1, "merge that Git"),
        "pipelines/c.json": ('{"name": "c"}', 1, "is not a pipeline"),
        "pipelines/d.json": (good, 44, "both are pipeline 'orders'"),
        "pipelines/e f.json": (good.replace('"orders"', '"e f"'), 1, "Invalid application ID"),
        "connections/x.json": ('{"name": 1}', 1, "is not a connection"),
        "preferences/p.json": ('{\n "preferences": {"a": 1}}', 2, "Expected `str`"),
        "preferences/q.json": ('{"other": {}}', 1, "unknown field"),
        "metadata/m.json": ('{"entity": "namespaces/other/datasets/x"}', 1, "namespace 'other'"),
        "metadata/n.json": ('{"entity": "datasets"}', 1, "is not the path of an entity"),
        "drafts/g.json": (
            json.dumps(make_pipeline() | {"namespace": "gone"}),
            1,
            "namespace 'gone'",
        ),
    }
    for path, (text, _, _) in broken.items():
        side.write(path, text)
    (side.folder / "drafts/latin.json").write_bytes(b'{\n"a": "\xff"}')
    (side.folder / "drafts/link.json").symlink_to(side.folder / "pipelines/orders.json")
    (side.folder / "drafts/more").symlink_to(side.folder / "pipelines")

    plan = side.plan()

    found = {each.file: each for each in plan.problems}
    assert set(found) == {*broken, "drafts/latin.json", "drafts/link.json", "drafts/more"} - {
        "pipelines/d.json"
    } | {"pipelines/orders.json"}
    for path, (_, line, part) in broken.items():
        problem = found["pipelines/orders.json" if path == "pipelines/d.json" else path]
        assert part in problem.message
        assert problem.corrective_action
        if path != "pipelines/d.json":
            assert (path, problem.line) == (path, line)
            assert path in problem.message
    assert found["drafts/latin.json"].line == 2
    assert (plan.instance, plan.files, plan.records) == ([], [], [])


def test_a_pipeline_that_cannot_be_deployed_stops_everything_before_anything_is_changed(side):
    side.write("preferences/namespace.json", {"preferences": {"a": "b"}})
    side.write(
        "connections/db.json", {"name": "db", "connectionType": "X", "plugin": {"name": "X"}}
    )
    side.write("pipelines/good.json", make_pipeline("good"))
    for name in ("bad", "worse"):
        document = make_pipeline(name)
        document["config"]["connections"] = [{"from": "read", "to": "nowhere"}]
        side.write(f"pipelines/{name}.json", document)

    outcome = side.made.apply(side.plan())

    assert [each.entity for each in outcome.problems] == ["pipelines/bad", "pipelines/worse"]
    assert side.cdap.applications.list_applications("default") == []
    assert side.cdap.connections.list_connections("default") == []
    assert side.cdap.preferences.get(PreferenceLevel("default")) == {}
    (side.folder / "pipelines/bad.json").unlink()
    (side.folder / "pipelines/worse.json").unlink()
    side.sync()
    assert side.plan().is_empty


def test_an_error_in_the_middle_undoes_what_was_changed(side, monkeypatch):
    plugin = ConnectionPlugin("X", properties={"host": "old"})
    side.cdap.connections.put("default", Connection("db", "X", plugin))
    side.sync()
    document = side.read("connections/db.json")
    document["plugin"]["properties"]["host"] = "new"
    side.write("connections/db.json", document)
    side.write("preferences/namespace.json", {"preferences": {"a": "b"}})
    side.write("drafts/d.json", make_pipeline("d"))
    plan = side.plan()

    def fail(*_, **__):
        raise ConflictError("no")

    monkeypatch.setattr(type(side.cdap.drafts), "save", fail)
    with pytest.raises(Exception, match="no"):
        side.made.apply(plan)

    assert side.cdap.connections.get("default", "db").plugin.properties == {"host": "old"}
    assert side.cdap.preferences.get(PreferenceLevel("default")) == {}


def test_plugins_of_other_versions_are_replaced_on_request_and_files_stay_as_they_are(side):
    document = make_pipeline()
    artifact = {"name": "core-plugins", "version": "2.11.1", "scope": "SYSTEM"}
    document["config"]["stages"][0]["plugin"]["artifact"] = artifact
    side.write("pipelines/orders.json", document)

    (problem,) = side.made.apply(side.plan()).problems
    assert "--fix" in problem.corrective_action
    side.sync(fix=True)

    assert side.read("pipelines/orders.json") == document
    assert side.export() != document
    assert side.plan().is_empty
    document["config"]["description"] = "new"
    side.write("pipelines/orders.json", document)
    side.sync()
    assert side.export()["config"]["description"] == "new"
    assert side.read("pipelines/orders.json") == document
    assert side.plan().is_empty


def test_an_emptied_folder_deletes_nothing(side):
    for name in ("a", "b"):
        side.deploy(make_pipeline(name))
    side.sync()
    for path in (side.folder / "pipelines").iterdir():
        path.unlink()

    plan = side.plan()

    assert "none of the 2 entities" in plan.problems[0].message
    assert plan.instance == []
    side.made.forget()
    side.sync()
    assert side.names() == ["pipelines/a.json", "pipelines/b.json"]


def test_a_namespace_that_is_made_again_remembers_nothing(side):
    side.cdap.namespaces.create("team", "")
    made = Synchronizer(side.cdap.sync, "team", side.folder)
    side.write("preferences/namespace.json", {"preferences": {"a": "b"}})
    made.apply(made.plan())
    assert made.plan().is_empty
    side.cdap.namespaces.delete("team")
    with pytest.raises(NotFoundError):
        made.plan()
    side.cdap.namespaces.create("team", "")

    assert [each.action.value for each in made.plan().instance] == ["add"]


def test_two_processes_do_not_synchronize_one_folder_at_once(side):
    again = Synchronizer(side.cdap.sync, "default", side.folder)
    with side.made.hold(), pytest.raises(ConflictError, match="Another process"), again.hold():
        pass
    with side.made.hold():
        pass


def test_what_changes_meanwhile_is_not_overwritten(side):
    side.deploy(make_pipeline())
    plan = side.plan()
    side.write("pipelines/orders.json", "mine")
    with pytest.raises(ConflictError, match="File 'pipelines/orders.json' was changed"):
        side.made.apply(plan)
    assert (side.folder / "pipelines/orders.json").read_text() == "mine"
    (side.folder / "pipelines/orders.json").unlink()
    side.sync()

    side.write("pipelines/orders.json", make_pipeline(path="new.csv"))
    plan = side.plan()
    side.deploy(make_pipeline(path="other.csv"))
    with pytest.raises(ConflictError, match="pipelines/orders was changed in the instance"):
        side.made.apply(plan)
    assert "other.csv" in json.dumps(side.export())


@pytest.mark.slow
@pytest.mark.parametrize("step", ["after the instance", "after one file", "before the record"])
def test_a_synchronization_that_ends_halfway_is_continued_by_the_next(side, monkeypatch, step):
    for name in ("a", "b"):
        side.deploy(make_pipeline(name))
    side.sync()
    for name in ("a", "b"):
        side.write(f"pipelines/{name}.json", make_pipeline(name, path="theirs.csv"))
        side.deploy(make_pipeline(name, description="mine"))
    side.deploy(make_pipeline("new"))
    plan = side.plan()
    with monkeypatch.context() as patch:
        end = _make_end(side, step)
        patch.setattr(*end)
        with pytest.raises(KeyboardInterrupt):
            side.made.apply(plan)

    side.sync()

    for name in ("a", "b"):
        for found in (side.read(f"pipelines/{name}.json"), side.export(name)):
            assert found["config"]["description"] == "mine"
            assert "theirs.csv" in json.dumps(found)
    assert side.names() == ["pipelines/a.json", "pipelines/b.json", "pipelines/new.json"]
    assert side.plan().is_empty


def _make_end(side, step):
    """What to replace so that a synchronization ends after a step."""
    change = side.made.folder.change

    def end(*_):
        if step == "after one file":
            change(_[0][:1])
        raise KeyboardInterrupt

    if step == "before the record":
        return type(side.cdap.sync), "record", end
    return side.made.folder, "change", end


@pytest.mark.soak
def test_a_killed_process_loses_nothing(make_side):
    """The command is killed while it synchronizes, at several points in time."""
    side = make_side()
    for number in range(4):
        side.deploy(make_pipeline(f"p{number}"))
    arguments = ["sync", str(side.folder), "--yes", "--home", str(side.instance.home.path)]
    for delay in (0.0, 0.1, 0.4, 0.8):
        program = [sys.executable, "-m", "localcdap.cli", *arguments]
        process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for path in side.folder.rglob("*.json"):  # each file is whole
            json.loads(path.read_text())

    side.sync()

    assert side.names() == [f"pipelines/p{number}.json" for number in range(4)]
    assert side.plan().is_empty


def test_left_over_files_of_killed_processes_are_removed(side):
    side.write("pipelines/.orders.json.ab12_xyz", "{")  # by an earlier version
    side.write("pipelines/.orders.json.8f4ffabc.part", "{")
    side.write("pipelines/.keep", "")

    with side.made.hold():
        pass

    assert side.names() == ["pipelines/.keep"]


def test_unreadable_choices_are_no_choices(side):
    side.deploy(make_pipeline())
    side.write("pipelines/orders.json", make_pipeline(path="other.csv"))

    assert len(side.plan(choices={"pipelines/other": Side.MINE}).conflicts) == 1
    assert side.plan(SyncDirection.PULL).conflicts
