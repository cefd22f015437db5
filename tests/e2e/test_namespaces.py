"""Namespaces, preferences and secure keys, as the commands and several processes at once show them."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from localcdap.home import Home
from localcdap.host import open_in_process
from tests.e2e.pipelines import csv_source, json_records, json_sink, pipeline, schema, stage, write
from tests.e2e.program import Command, Program, wait_until
from tests.e2e.test_crashes import SlowPipeline

ROW = schema(id="int")
VALUE = "hunter2"
LATE = "exp:{id == 2 ? token / 2 : id}"
PLUGIN = """
from localcdap.api import Transform, plugin

@plugin(type="transform", name="Mine", description="Does nothing.")
class Mine(Transform):
    def configure(self, stage):
        stage.output_schema = stage.input_schema

    def transform(self, record, emit):
        emit(record)
"""


def put_plugin(program: Program, namespace: str) -> Path:
    path = program.home / "plugins" / namespace / "mine-1.0.0.py"
    path.parent.mkdir(parents=True)
    path.write_text(PLUGIN)
    return path


def answer(reported: tuple[int, str, str]) -> Any:
    code, out, err = reported
    assert code == 0, err
    return json.loads(out)


def test_a_namespace_with_everything_comes_and_goes(program: Program, command: Command):
    created = answer(command("namespaces", "create", "team", "--description", "ours", "--json"))
    assert (created["name"], created["description"]) == ("team", "ours")
    put_plugin(program, "team")
    wait_until(lambda: command("plugin", "transform", "Mine", "-n", "team")[0] == 0, "the plugin")
    command("preferences", "set", "a=1", "b=2=3", "-n", "team")
    command("preferences", "set", "a=0", "c=0", "--instance")
    resolved = ("preferences", "--resolved", "-n", "team", "--json")
    assert answer(command(*resolved)) == {"a": "1", "b": "2=3", "c": "0"}
    assert command("secrets", "put", "pw", "-n", "team", input=f"{VALUE}\n")[0] == 0
    assert f'"{VALUE}"' in (program.home / "secrets.json").read_text()

    deleted = answer(command("namespaces", "delete", "team", "--json"))
    assert deleted["generation"] == created["generation"]
    assert [p.name for p in Path(deleted["kept"][0]).iterdir()] == ["mine-1.0.0.py"]
    assert not (program.home / "plugins" / "team").exists()
    assert VALUE not in (program.home / "secrets.json").read_text()
    again = answer(command("namespaces", "create", "team", "--json"))
    assert again["generation"] > created["generation"]
    assert command("plugin", "transform", "Mine", "-n", "team")[0] == 1
    assert answer(command(*resolved)) == {"a": "0", "c": "0"}
    assert answer(command("secrets", "-n", "team", "--json")) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("namespaces", "create"), 2),
        (("namespaces", "create", "a-b"), 2),
        (("namespaces", "delete", "default"), 1),
        (("namespaces", "delete", "nope"), 1),
        (("preferences", "set", "=x"), 2),
        (("secrets", "put", "pw"), 2),
        (("secrets", "put", "PW", "--json"), 2),
        (("secrets", "delete", "pw"), 1),
        (("doctor", "--skip-event", "nobody"), 1),
    ],
)
def test_wrong_use_has_its_exit_code(command: Command, arguments, code: int):
    assert command(*arguments)[0] == code


def test_a_namespace_that_does_not_exist_is_reported_by_every_command(
    command: Command, tmp_path: Path
):
    document = pipeline(
        [csv_source("In", tmp_path, ROW), json_sink("Out", tmp_path)], ("In", "Out")
    )
    file = write(document, tmp_path / "p.json")
    for arguments in (
        ["runs"],
        ["logs", "last"],
        ["plugins"],
        ["plugin", "transform", "Mine"],
        ["capabilities"],
        ["artifacts"],
        ["tables"],
        ["tables", "x"],
        ["sql", "SELECT 1"],
        ["profiles"],
        ["validate", file],
        ["run", file],
        ["preferences"],
        ["secrets"],
    ):
        code, _, err = command(*arguments, "-n", "nope")
        assert code == 1, arguments
        assert "Namespace 'nope' does not exist; available: default." in err, arguments


def test_plugins_in_a_folder_that_is_no_namespace_are_listed_with_a_hint(
    program: Program, command: Command
):
    path = put_plugin(program, "ghost")
    errors = ("artifacts", "--errors", "--json")
    (listed,) = wait_until(lambda: answer(command(*errors)), "the stray artifact")

    assert listed["path"] == str(path)
    assert "Create it: localcdap namespaces create ghost" in listed["error"]
    command("namespaces", "create", "ghost")
    assert answer(command(*errors)) == []
    assert command("plugin", "transform", "Mine", "-n", "ghost")[0] == 0


def test_a_client_hears_what_others_do(program: Program):
    received: list[str] = []
    with open_in_process(Home(program.home)) as host:
        assert host.is_host
        program("namespaces", "create", "team")
        position = host.messaging.get_newest_id()
        waiting = threading.Thread(
            target=lambda: received.extend(
                m.payload["kind"]
                for m in host.messaging.fetch("system", ["entities", "runs"], position, wait_s=60)
            )
        )
        waiting.start()
        assert program("namespaces", "delete", "team").code == 0
        waiting.join(60)
        assert received == ["entityDeleted"]
        assert [n.name for n in host.namespaces.list_namespaces()] == ["default"]


@pytest.mark.slow
@pytest.mark.spark
def test_a_run_takes_preferences_and_secure_keys_and_shows_no_value(
    program: Program, command: Command, tmp_path: Path
):
    folder = tmp_path / VALUE
    folder.mkdir()
    (folder / "in.csv").write_text("1\n2\n")
    document = pipeline(
        [
            csv_source("In", Path("${secure(folder)}/${file}"), ROW),
            json_sink("Out", tmp_path / "${out}"),
        ],
        ("In", "Out"),
    )
    file = write(document, tmp_path / "p.json")
    command("secrets", "put", "folder", input=str(folder))
    command("preferences", "set", "out=elsewhere", "file=in.csv")
    command("preferences", "set", "out=written", "--application", "test_pipeline")

    completed = answer(command("run", file, "--json"))
    assert completed["status"] == "COMPLETED"
    assert json_records(tmp_path / "written") == [{"id": 1}, {"id": 2}]
    failed = json.loads(command("run", file, "-a", "file=none.csv", "--json")[1])
    assert failed["status"] == "FAILED"
    assert "********/none.csv" in failed["error"]["message"]

    shown = [
        command(*arguments, "--json")[1]
        for arguments in (["runs"], ["logs", "last"], ["validate", file], ["secrets"])
    ]
    assert VALUE not in "".join(shown)
    files = [path for path in program.home.rglob("*") if path.is_file()]
    assert [p.name for p in files if VALUE.encode() in p.read_bytes()] == ["secrets.json"]


@pytest.mark.slow
@pytest.mark.spark
def test_the_record_at_which_a_recipe_fails_is_shown_without_secrets(
    program: Program, command: Command, tmp_path: Path
):
    (tmp_path / "in.csv").write_text("1\n2\n")
    recipe = (
        f"set-column :token '${{secure(token)}}'\nsend-to-error id == 9\nset-column :half {LATE}"
    )
    wrangle = stage(
        "Wrangle",
        "transform",
        "Wrangler",
        "wrangler-transform",
        field="*",
        directives=recipe,
        schema=schema(id="int", token="string", half="int"),
    )
    stages = [
        csv_source("In", tmp_path / "in.csv", ROW),
        wrangle,
        json_sink("Out", tmp_path / "out"),
    ]
    file = write(pipeline(stages, ("In", "Wrangle"), ("Wrangle", "Out")), tmp_path / "p.json")
    command("secrets", "put", "token", input=VALUE * 20)  # longer than what is shown of a value

    failed = json.loads(command("run", file, "--json")[1])

    error = failed["error"]
    assert error["stage"] == "Wrangle"
    assert "(line 1 or 3 of the recipe)" in error["message"]
    assert error["message"].endswith("Record: {id: 2, token: '********'}")
    shown = [
        command(*arguments)[1]
        for arguments in (["run", file], ["logs", "last"], ["runs", "--json"], ["preview", file])
    ]
    assert VALUE[:5] not in json.dumps(failed) + "".join(shown)
    assert all("Record: {id: 2, token: '********'}" in each for each in shown)


@pytest.mark.spark
@pytest.mark.slow
def test_an_active_run_keeps_its_namespace_unless_forced(
    program: Program, command: Command, tmp_path: Path
):
    slow = SlowPipeline(tmp_path)
    command("namespaces", "create", "team")
    with open_in_process(Home(program.home)) as host:
        started = answer(command("run", slow.file, "-n", "team", "--detach", "--json"))

        def status() -> str:
            return host.runs.get("team", started["run"]).status.value

        wait_until(lambda: status() == "RUNNING", "the run is running")
        code, _, err = command("namespaces", "delete", "team")
        assert code == 1
        assert f"run {started['run']} of 'test_pipeline'" in err
        assert status() == "RUNNING"

        assert command("namespaces", "delete", "team", "--force")[0] == 0
        events = host.messaging.fetch("system", ["runs", "entities"], 0)
        assert [m.payload.get("status", m.payload["kind"]) for m in events][-2:] == [
            "KILLED",
            "entityDeleted",
        ]
    assert command("namespaces", "create", "team")[0] == 0
    assert answer(command("runs", "-n", "team", "--json")) == []
    runs = program.home / "runs"
    assert not runs.exists() or list(runs.iterdir()) == []
    assert not slow.out.exists()
