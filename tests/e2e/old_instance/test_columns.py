"""A pipeline of the instance whose source has no schema: the names of its columns come from the file."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import duckdb
import pytest

from localcdap.api.client import connect
from localcdap.cli.main import run
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.rules.column_numbers import number_from_zero
from tests.e2e.old_instance.conftest import ARCHIVE

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_columns_of_a_file_without_names_keep_their_numbers(
    tmp_path: Path, engine_directory: Path, monkeypatch: pytest.MonkeyPatch
):
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    home = tmp_path / "home"
    document = remove_schema(json.loads((home / "pipelines" / "readings.json").read_text()))
    draft = remove_schema(json.loads((home / "pipelines" / "unfinished.json").read_text()))
    with duckdb.connect(str(home / "localcdap.duckdb")) as database:
        database.execute(
            "UPDATE applications SET document = ? WHERE name = 'readings'", [json.dumps(document)]
        )
        database.execute("UPDATE draft_revisions SET pipeline = ?", [json.dumps(draft)])
    monkeypatch.setenv("LOCALCDAP_ENGINE_DIRECTORY", str(engine_directory))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    (tmp_path / "imported.json").write_text(json.dumps(document))

    with connect(home) as cdap:
        before = cdap.tables.read_rows("default", "readings", 100)
        deployed = ask(home, "export", "readings")
        unfinished = ask(home, "drafts", "show", "unfinished")
        ended = ask(home, "run", "readings")
        after = cdap.tables.read_rows("default", "readings", 100)
        imported = ask(home, "validate", str(tmp_path / "imported.json"), code=1)
        (tmp_path / "fixed.json").write_text(json.dumps(fix(deployed)))
        fixed = ask(home, "validate", str(tmp_path / "fixed.json"))

    for kept in (deployed, unfinished):
        properties = kept["config"]["stages"][0]["plugin"]["properties"]
        assert properties["firstColumnNumber"] == "1"
    assert ended["status"] == "COMPLETED"
    assert (after.columns, sorted(after.rows)) == (before.columns, sorted(before.rows))
    assert after.columns == ["body_1", "body_2", "body_3", "body_4", "body_5"]
    (failure,) = imported["errors"]
    assert (failure["stage"], failure["field"]) == ("Readings", "firstColumnNumber")
    assert "Set 'firstColumnNumber' to 1" in failure["correctiveAction"]
    assert fixed["errors"] == []


def fix(document: dict[str, Any]) -> dict[str, Any]:
    """What the fix of the studio makes of a pipeline."""
    document = copy.deepcopy(document)
    stages = {stage["name"]: stage["plugin"] for stage in document["config"]["stages"]}
    changes = number_from_zero(read_document(document), "Readings")
    assert changes["Readings", "firstColumnNumber"] is None
    assert any("body_0" in (text or "") for text in changes.values())
    for (stage, name), value in changes.items():
        if value is None:
            del stages[stage]["properties"][name]
        else:
            stages[stage]["properties"][name] = value
    return document


def ask(home: Path, *arguments: str, code: int = 0) -> Any:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert run([*arguments, "--home", str(home), "--json"]) == code
    return json.loads(output.getvalue())


def remove_schema(document: dict) -> dict:
    del document["config"]["stages"][0]["plugin"]["properties"]["schema"]
    return document
