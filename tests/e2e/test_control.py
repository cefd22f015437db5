"""Conditions, actions and post actions in whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.pipelines import (
    csv_source,
    json_records,
    json_sink,
    pipeline,
    python,
    schema,
    stage,
    write,
)
from tests.e2e.program import Program

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("hosted")]
ROW = schema(id="int")
PLUGINS = """
from pathlib import Path
from localcdap.api import Action, PluginConfig, PostAction, PostActionConfig, field, plugin

@plugin(type="action", name="Set", description="Sets an argument.")
class Set(Action):
    class Config(PluginConfig):
        key: str = field("Name.")
        value: str = field("Value.", macro=True)
    def run(self, context):
        if self.config.value == "fail":
            raise ValueError("asked to fail")
        context.set_argument(self.config.key, self.config.value)

@plugin(type="postaction", name="Note", description="Notes how a run ended.")
class Note(PostAction):
    class Config(PostActionConfig):
        file: str = field("File.", macro=True)
    def run(self, context):
        with Path(context.resolve_path(self.config.file)).open("a") as file:
            file.write(f"{context.stage_name} {context.succeeded} {sorted(context.arguments.items())}\\n")
        raise ValueError("changes nothing")
"""


def add_plugins(program: Program) -> None:
    folder = program.home / "plugins"
    folder.mkdir(parents=True)
    (folder / "control-1.0.0.py").write_text(PLUGINS)


def own(name: str, type: str, plugin: str, **properties: str) -> dict[str, Any]:
    made = stage(name, type, plugin, "control", **properties)
    made["plugin"]["artifact"]["scope"] = "USER"
    return made


def note(name: str, file: Path, when: str) -> dict[str, Any]:
    return own(name, "postaction", "Note", file=str(file), runCondition=when)


def conditional(name: str, expression: str) -> dict[str, Any]:
    return stage(name, "condition", "Conditional", "condition-plugins", expression=expression)


def connect(document: dict[str, Any], source: str, target: str, condition: str) -> None:
    document["config"]["connections"].append({"from": source, "to": target, "condition": condition})


def counts(run: dict[str, Any], *stages: str) -> list[tuple[int, int, int]]:
    found = (run["stages"][name] for name in stages)
    return [(each["in"], each["out"], each["errors"]) for each in found]


@pytest.mark.parametrize(("expression", "strings", "rows"), [(" > 1 ", 9, 0), (" gt 9", 0, 9)])
def test_a_real_pipeline_takes_the_branch_of_its_condition(
    program: Program, tmp_path: Path, corpus: Path, expression: str, strings: int, rows: int
):
    data = tmp_path / "data"
    data.mkdir()
    (data / "purchase_bad.csv").write_bytes(
        (corpus / "data" / "306" / "purchase_bad.csv").read_bytes()
    )
    program.settings(f'[locations]\n"/tmp/cdap-ui-integration-fixtures" = "{data}"\n')
    original = corpus / "pipelines" / "306_union-condition-splitter-pipeline-v1.json"
    text = original.read_text().replace(" > 1 ", expression)
    file = tmp_path / "p.json"
    file.write_text(text)

    run = program("run", str(file), "--json").json

    assert run["status"] == "COMPLETED", run["error"]
    assert counts(run, "String JavaScript Emitter", "Conditional") == [(9, 9, 9), (9, 9, 0)]
    assert counts(run, "String Prices", "CDAP Table Dataset") == [(strings, 0, 0), (rows, 0, 0)]
    written = [
        line
        for part in data.rglob("prices_in_string.txt/*/part-*")
        for line in part.read_text().splitlines()
    ]
    tables = [table["name"] for table in program("tables", "--json").json]
    assert len(written) == strings
    assert tables == (["nonstringdataset"] if rows else [])
    assert len(json_records(data / "prices_in_int.txt")) == 2


def test_actions_give_arguments_and_see_what_sinks_wrote(program: Program, tmp_path: Path):
    add_plugins(program)
    notes, inbox, out = tmp_path / "notes", tmp_path / "inbox", tmp_path / "out"
    inbox.mkdir()
    (inbox / "in.csv").write_text("1\n2\n")
    (inbox / "other.txt").write_text("")
    source = csv_source("In", Path("${folder}/in.csv"), "${rows}")
    document = pipeline(
        [
            own("Set folder", "action", "Set", key="folder", value="${base}/work"),
            own("Set rows", "action", "Set", key="rows", value=ROW),
            stage(
                "Fetch",
                "action",
                "FileMove",
                sourcePath=str(inbox),
                destPath="${folder}",
                fileRegex=".*[.]csv",
            ),
            source,
            json_sink("Out", out),
            stage("Ship", "action", "FileMove", sourcePath=str(out), destPath=f"{tmp_path}/there"),
            stage("Clean", "action", "FileDelete", path="${folder}"),
        ],
        ("Set folder", "Set rows"),
        ("Set rows", "Fetch"),
        ("Fetch", "In"),
        ("In", "Out"),
        ("Out", "Ship"),
        ("Ship", "Clean"),
    )
    document["config"]["postActions"] = [
        note(when, notes, when) for when in ("success", "failure", "completion")
    ]
    file = write(document, tmp_path / "p.json")

    missing = program("run", file, "--json")
    run = program("run", file, "-a", f"base={tmp_path}", "--json").json

    assert {f["stage"] for f in missing.json["errors"]} == {"Set folder"}
    assert run["status"] == "COMPLETED", run["error"]
    assert run["stages"]["Out"]["in"] == 2
    assert json_records(tmp_path / "there") == [{"id": 1}, {"id": 2}]
    assert not list(out.iterdir())
    assert not list((tmp_path / "work").iterdir())
    assert (inbox / "other.txt").exists()
    said = [line.split(" ", 2) for line in notes.read_text().splitlines()]
    assert [line[:2] for line in said] == [["success", "True"], ["completion", "True"]]
    assert "'folder'" in said[0][2]
    log = program("logs", "last").out
    assert "Post action 'success' failed" in log


def test_a_failing_action_fails_the_run_and_post_actions_hear_of_it(
    program: Program, tmp_path: Path
):
    add_plugins(program)
    (tmp_path / "in.csv").write_text("1\n")
    document = pipeline(
        [
            own("Stop", "action", "Set", key="k", value="fail"),
            csv_source("In", tmp_path / "in.csv", ROW),
            json_sink("Out", tmp_path / "out"),
        ],
        ("Stop", "In"),
        ("In", "Out"),
    )
    document["config"]["postActions"] = [
        note(when, tmp_path / "notes", when) for when in ("success", "failure", "completion")
    ]

    run = program("run", write(document, tmp_path / "p.json"), "--json").json

    assert run["status"] == "FAILED"
    assert run["error"]["stage"] == "Stop"
    assert "asked to fail" in run["error"]["message"]
    assert not (tmp_path / "out").exists()
    lines = (tmp_path / "notes").read_text().splitlines()
    assert [line.split(" ")[:2] for line in lines] == [
        ["failure", "False"],
        ["completion", "False"],
    ]


def test_what_an_action_makes_invalid_is_reported_with_stage_and_field(
    program: Program, tmp_path: Path
):
    add_plugins(program)
    (tmp_path / "in.csv").write_text("1\n")
    document = pipeline(
        [
            own("Set rows", "action", "Set", key="rows", value="{broken"),
            csv_source("In", tmp_path / "in.csv", "${rows}"),
            json_sink("Out", tmp_path / "out"),
        ],
        ("Set rows", "In"),
        ("In", "Out"),
    )

    run = program("run", write(document, tmp_path / "p.json"), "--json").json

    assert run["status"] == "FAILED"
    error = run["error"]
    assert (error["stage"], error["field"]) == ("In", "schema")
    failures = [(each["stage"], each.get("field")) for each in error["failures"]]
    assert failures == [("In", "schema"), ("Out", None)]
    assert error["message"].startswith("The pipeline is not valid:\nStage 'In' encountered : ")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_conditions_in_a_row_branches_that_meet_again_and_sources_behind_them(
    program: Program, tmp_path: Path
):
    """In - First - Second - (Low | High) - Out; the source behind Third is not wanted, and not there."""
    (tmp_path / "in.csv").write_text("1\n2\n3\n")
    add = "def transform(record, emitter, context):\n    emitter.emit({'id': record['id'] + %d})"
    document = pipeline(
        [
            csv_source("In", tmp_path / "in.csv", ROW),
            conditional("First", "token['In']['output'] == 3"),
            conditional("Second", "token['First']['input'] > runtime['limit']"),
            python("High", add % 100, ROW),
            python("Low", add % 10, ROW),
            json_sink("Out", tmp_path / "out"),
            conditional("Third", "token['Low']['output'] == 0"),
            csv_source("Missing", tmp_path / "missing.csv", ROW),
            json_sink("Never", tmp_path / "never"),
        ],
        ("In", "First"),
        ("High", "Out"),
        ("Low", "Out"),
        ("Out", "Third"),
        ("Missing", "Never"),
    )
    connect(document, "First", "Second", "true")
    connect(document, "Second", "High", "true")
    connect(document, "Second", "Low", "false")
    connect(document, "Third", "Missing", "true")
    file = write(document, tmp_path / "p.json")

    run = program("run", file, "-a", "limit=5", "--json").json

    assert run["status"] == "COMPLETED", run["error"]
    assert json_records(tmp_path / "out") == [{"id": 11}, {"id": 12}, {"id": 13}]
    assert counts(run, "First", "Second", "High", "Low", "Out", "Missing", "Never") == [
        (3, 3, 0),
        (3, 3, 0),
        (0, 0, 0),
        (3, 3, 0),
        (3, 0, 0),
        (0, 0, 0),
        (0, 0, 0),
    ]
    assert not (tmp_path / "never").exists()


@pytest.mark.slow
def test_an_expression_about_no_stage_counts_nothing_and_is_a_warning(
    program: Program, tmp_path: Path
):
    (tmp_path / "in.csv").write_text("1\n")
    document = pipeline(
        [
            csv_source("In", tmp_path / "in.csv", ROW),
            conditional("Choose", "token['Inn']['output'] == 3"),
            json_sink("Out", tmp_path / "out"),
        ],
        ("In", "Choose"),
    )
    connect(document, "Choose", "Out", "true")
    valid = write(document, tmp_path / "p.json")
    document["config"]["stages"][1]["plugin"]["properties"]["expression"] = "token['In'] >"
    broken = write(document, tmp_path / "broken.json")

    run = program("run", valid, "--json").json
    (warning,) = program("validate", valid, "--json").json["warnings"]
    (failure,) = program("validate", broken, "--json").json["errors"]

    assert "No stage before the condition is called 'Inn'" in warning["message"]
    assert (warning["stage"], run["status"]) == ("Choose", "COMPLETED")
    assert not (tmp_path / "out").exists()
    assert (failure["field"], failure["message"]) == (
        "expression",
        "Invalid expression: The expression ends too early - at line 1, column 14 of the expression.",
    )


def test_a_pipeline_of_one_action(program: Program, tmp_path: Path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").write_text("")
    document = pipeline([stage("Clean", "action", "FileDelete", path=str(tmp_path / "old"))])
    file = write(document, tmp_path / "p.json")

    run = program("run", file, "--json").json

    assert run["status"] == "COMPLETED", run["error"]
    assert not list((tmp_path / "old").iterdir())
    assert json.loads(Path(file).read_text()) == document
