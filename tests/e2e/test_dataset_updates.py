"""Updates of one dataset by several processes at once, through the host that they share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Answer, Program


def write_schema(folder: Path, *names: str) -> str:
    fields: list[dict[str, Any]] = [{"name": "id", "type": "long"}]
    fields += [{"name": name, "type": ["string", "null"]} for name in names]
    file = folder / f"{'-'.join(names)}.avsc"
    file.write_text(json.dumps({"type": "record", "name": "r", "fields": fields}))
    return str(file)


def run_at_once(program: Program, *commands: list[str]) -> list[Answer]:
    started = [program.start(*each) for each in commands]
    ended = [(*process.communicate(timeout=240), process.returncode) for process in started]
    return [Answer(code, out, err) for out, err, code in ended]


def show(program: Program) -> Any:
    return program("datasets", "show", "items", "--json").json


@pytest.mark.slow
def test_processes_that_update_one_dataset_take_turns(program: Program, tmp_path: Path) -> None:
    create = ["datasets", "create", "items", "table", "-p", "schema.row.field=id"]
    assert program(*create, "--schema", write_schema(tmp_path, "name")).code == 0

    edits = [["datasets", "update", "items", "--set", f"note.{n}={n}"] for n in range(3)]
    assert [each.code for each in run_at_once(program, *edits)] == [0, 0, 0]
    assert {f"note.{n}" for n in range(3)} < show(program)["properties"].keys()

    # Each is compared with what the one before it has made: the second would drop a column.
    files = {name: write_schema(tmp_path, "name", name) for name in ("city", "zip")}
    wider = [["datasets", "update", "items", "--schema", file] for file in files.values()]
    answers = run_at_once(program, *wider)
    assert sorted(each.code for each in answers) == [0, 1]
    (refused,) = [each for each in answers if each.code]
    kept = ["city", "zip"][[each.code for each in answers].index(0)]
    assert f"'{kept}'" in refused.err
    assert program("sql", f"SELECT id, name, {kept} FROM items").code == 0
    fields = json.loads(show(program)["properties"]["schema"])["fields"]
    assert [each["name"] for each in fields] == ["id", "name", kept]
    assert all(f"note.{n}" in show(program)["properties"] for n in range(3))
