"""Synchronizations of a real instance with real files."""

from __future__ import annotations

import json

from localcdap.api.app.connections import Connection, ConnectionPlugin
from localcdap.api.metadata import MetadataEntity
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.pipeline.library.application_model import DraftRequest
from localcdap.schedules.model import ScheduleRequest, ScheduleStatus, TimeTrigger
from localcdap.sync.merge import Side
from localcdap.sync.model import SyncDirection
from tests.sync.workplace import make_pipeline


def fill(side):
    side.deploy(make_pipeline())
    side.cdap.drafts.save("default", DraftRequest(make_pipeline("Grüße / 2026"), "Grüße / 2026"))
    plugin = ConnectionPlugin("PostgreSQL", properties={"host": "db", "password": "s3cret-value"})
    side.cdap.connections.put("default", Connection("My DB", "PostgreSQL", plugin))
    side.cdap.preferences.replace(PreferenceLevel("default"), {"region": "eu"})
    level = PreferenceLevel("default", "orders", "workflows/DataPipelineWorkflow")
    side.cdap.preferences.replace(level, {"day": "monday"})
    weekly = ScheduleRequest(TimeTrigger("0 6 ? * MON"), properties={"region": "eu"})
    side.cdap.schedules.add("default", "orders", "weekly", weekly)
    entity = MetadataEntity.of_application("orders", "default")
    side.cdap.metadata.add(entity, {"owner": "ann"}, ["sales", "daily"])


def test_a_namespace_is_written_and_read_by_another_instance(make_side):
    one, other = make_side("one"), make_side("other")
    fill(one)

    one.sync()

    assert one.names() == [
        "connections/My DB.json",
        "drafts/Grüße %2F 2026.json",
        "metadata/apps/orders.json",
        "pipelines/orders.json",
        "preferences/apps/orders/workflows/DataPipelineWorkflow.json",
        "preferences/namespace.json",
        "schedules/orders/weekly.json",
    ]
    assert "s3cret" not in "".join(path.read_text() for path in one.folder.rglob("*.json"))
    assert one.plan().is_empty
    plan = other.sync()
    assert plan.files == []
    assert [change.title for change in plan.instance] == [
        "connections/My DB",
        "preferences/apps/orders/workflows/DataPipelineWorkflow",
        "preferences/namespace",
        "pipelines/orders",
        "schedules/orders/weekly",
        "drafts/Grüße / 2026",
        "metadata/apps/orders",
    ]
    assert other.plan().is_empty
    assert other.export()["config"] == one.export()["config"]
    entity = MetadataEntity.of_application("orders", "default")
    assert other.cdap.metadata.get(entity).user == one.cdap.metadata.get(entity).user


def test_a_schedule_is_changed_and_deleted_and_each_side_enables_its_own(make_side):
    one, other = make_side("one"), make_side("other")
    fill(one)
    one.sync()
    other.sync()
    other.cdap.schedules.enable("default", "orders", "weekly")
    document = one.read("schedules/orders/weekly.json")
    assert document == {
        "application": "orders",
        "constraints": [],
        "description": "",
        "name": "weekly",
        "program": {"programName": "DataPipelineWorkflow", "programType": "WORKFLOW"},
        "properties": {"region": "eu"},
        "timeoutMillis": 86_400_000,
        "trigger": {"cronExpression": "0 6 ? * MON", "type": "TIME"},
    }
    assert other.plan().is_empty
    one.write("schedules/orders/weekly.json", document | {"timeoutMillis": 5})
    other.sync()
    schedule = other.cdap.schedules.get("default", "orders", "weekly")
    assert (schedule.timeout_millis, schedule.status) == (5, ScheduleStatus.SCHEDULED)
    (one.folder / "schedules/orders/weekly.json").unlink()
    one.sync()
    assert one.cdap.schedules.list_schedules("default") == []


def test_a_wrong_schedule_is_a_problem_and_one_of_no_pipeline_waits(side):
    fill(side)
    side.sync()
    document = side.read("schedules/orders/weekly.json")
    wrong = document | {"trigger": {"type": "TIME", "cronExpression": "61 * * * *"}}
    side.write("schedules/orders/weekly.json", wrong)
    (problem,) = side.plan().problems
    assert "'61' is not a valid minute" in problem.message
    assert problem.file == "schedules/orders/weekly.json"
    side.write("schedules/orders/weekly.json", document)
    side.write("schedules/none/weekly.json", document | {"application": "none"})

    with side.made.hold():
        outcome = side.made.apply(side.plan())

    assert [each.title for each in outcome.held] == ["schedules/none/weekly"]


def test_the_file_of_a_pipeline_can_be_imported(side):
    side.deploy(make_pipeline())
    side.sync(SyncDirection.PUSH)

    document = side.read("pipelines/orders.json")
    assert set(document) == {"artifact", "config", "name"}
    assert list(document["config"]) == sorted(document["config"])
    side.cdap.applications.delete("default", "orders")
    side.deploy(document)


def test_changes_of_both_sides_of_one_pipeline_are_merged(side):
    side.deploy(make_pipeline())
    side.sync()
    document = side.read("pipelines/orders.json")
    document["config"]["stages"][0]["plugin"]["properties"]["path"] = "new.csv"
    side.write("pipelines/orders.json", document)
    side.deploy(make_pipeline(description="amount > 5"))

    plan = side.sync()

    assert [each.title for each in (*plan.instance, *plan.files)] == ["pipelines/orders"] * 2
    for found in (side.read("pipelines/orders.json"), side.export()):
        assert found["config"]["stages"][0]["plugin"]["properties"]["path"] == "new.csv"
        assert found["config"]["description"] == "amount > 5"
    assert side.plan().is_empty


def test_conflicts_change_nothing_until_they_are_solved(side):
    side.deploy(make_pipeline())
    side.sync()
    document = side.read("pipelines/orders.json")
    document["config"]["stages"][0]["plugin"]["properties"]["path"] = "theirs.csv"
    side.write("pipelines/orders.json", document)
    side.deploy(make_pipeline(path="mine.csv"))

    plan = side.plan()

    (conflict,) = plan.conflicts
    assert (conflict.where, conflict.base) == ("stage 'read', property 'path'", "in.csv")
    assert (conflict.mine, conflict.theirs) == ("mine.csv", "theirs.csv")
    assert conflict.file == "pipelines/orders.json"
    assert (plan.instance, plan.files, plan.records) == ([], [], [])
    for choice in (conflict.address, "pipelines/orders", "all"):
        solved = side.plan(choices={choice: Side.THEIRS})
        assert (solved.conflicts, len(solved.instance)) == ([], 1)
    side.sync(choices={conflict.address: Side.THEIRS})
    assert side.export()["config"]["stages"][0]["plugin"]["properties"]["path"] == "theirs.csv"
    assert side.plan().is_empty


def test_deletions_go_both_ways_and_only_where_both_sides_knew_the_entity(side):
    for name in ("a", "b", "c"):
        side.deploy(make_pipeline(name))
    side.sync()
    side.deploy(make_pipeline("new"))
    side.write("pipelines/other.json", make_pipeline("other"))
    side.cdap.applications.delete("default", "a")
    (side.folder / "pipelines/b.json").unlink()

    plan = side.sync()

    assert [(each.action.value, each.key) for each in plan.instance] == [
        ("delete", "b"),
        ("add", "other"),
    ]
    assert [(each.action.value, each.path) for each in plan.files] == [
        ("delete", "pipelines/a.json"),
        ("add", "pipelines/new.json"),
    ]
    assert [each.name for each in side.cdap.applications.list_applications("default")] == [
        "c",
        "new",
        "other",
    ]
    assert side.plan().is_empty


def test_a_pipeline_that_is_deleted_here_and_changed_there_is_a_conflict(side):
    side.deploy(make_pipeline())
    side.sync()
    side.cdap.applications.delete("default", "orders")
    side.write("pipelines/orders.json", make_pipeline(path="new.csv"))

    (conflict,) = side.plan().conflicts

    assert (conflict.path, conflict.where) == ([], "")
    plan = side.sync(choices={"pipelines/orders": Side.MINE})
    assert [each.action.value for each in plan.files] == ["delete"]
    assert side.names() == []
    assert not (side.folder / "pipelines").exists()


def test_pull_and_push_change_one_side_only(side):
    side.deploy(make_pipeline())
    side.sync()
    document = side.read("pipelines/orders.json")
    document["config"]["stages"][0]["plugin"]["properties"]["path"] = "new.csv"
    side.write("pipelines/orders.json", document)
    side.deploy(make_pipeline(description="amount > 5"))
    text = (side.folder / "pipelines/orders.json").read_text()

    pulled = side.sync(SyncDirection.PULL)

    assert (len(pulled.instance), pulled.files) == (1, [])
    assert (side.folder / "pipelines/orders.json").read_text() == text
    assert side.export()["config"]["description"] == "amount > 5"
    assert side.plan(SyncDirection.PULL).is_empty
    pushed = side.sync(SyncDirection.PUSH)
    assert (pulled.files, len(pushed.files), pushed.instance) == ([], 1, [])
    assert side.read("pipelines/orders.json")["config"]["description"] == "amount > 5"
    assert side.plan().is_empty


def test_foreign_files_are_left_alone(side):
    side.deploy(make_pipeline())
    foreign = {
        "README.md": "# Ours\n",
        "package.json": '{"name": "tools"}',
        "broken.json": "{",
        ".git/config": "[core]",
        "pipelines/NOTES.md": "note",
        "docs/x.json": "{",
    }
    for path, text in foreign.items():
        side.write(path, text)

    side.sync()
    side.cdap.applications.delete("default", "orders")
    side.sync()

    assert {path: (side.folder / path).read_text() for path in foreign} == foreign
    assert side.names() == sorted(foreign)


def test_what_cdaps_source_control_writes_is_read(side):
    detail = {
        "name": "orders",
        "appVersion": "c6b9",
        "description": "",
        "change": {"author": "joe", "creationTimeMillis": 1, "latest": True},
        "configuration": json.dumps(make_pipeline()["config"]),
        "datasets": [],
        "programs": [{"type": "Workflow", "app": "orders", "name": "DataPipelineWorkflow"}],
        "plugins": [],
        "artifact": {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"},
    }
    side.write("orders.json", detail)

    plan = side.sync()

    assert (len(plan.instance), plan.files) == (1, [])
    assert side.export()["config"] == make_pipeline()["config"]
    side.deploy(make_pipeline("more"))
    side.deploy(make_pipeline(path="new.csv"))
    (changed, added) = sorted(side.plan().files, key=lambda each: each.action)[::-1]
    assert (changed.path, changed.is_canonical, added.path) == ("orders.json", False, "more.json")


def test_only_the_latest_version_is_written(side):
    for path in ("a.csv", "b.csv"):
        side.deploy(make_pipeline(path=path))

    side.sync()

    assert "b.csv" in (side.folder / "pipelines/orders.json").read_text()
    assert side.names() == ["pipelines/orders.json"]


def test_metadata_of_what_does_not_exist_yet_waits(side):
    file = {"entity": "datasets/later", "tags": ["gold"]}
    side.write("metadata/datasets/later.json", file)
    plan = side.plan()

    outcome = side.made.apply(plan)

    assert [each.entity for each in outcome.held] == ["metadata/datasets/later"]
    assert len(side.plan().instance) == 1


def test_a_renamed_draft_stays_the_same_draft(side):
    draft = side.cdap.drafts.save("default", DraftRequest(make_pipeline(), "first"))
    side.sync()
    document = side.read("drafts/first.json")
    side.write("drafts/first.json", document | {"name": "second"})

    side.sync()

    (found,) = side.cdap.drafts.list_drafts("default")
    assert (found.id, found.name, found.revision) == (draft.id, "second", 2)
