"""A pipeline of the instance whose source has no schema: the names of its columns come from the file."""

from __future__ import annotations

import contextlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import duckdb
import pytest

from localcdap.api.client import connect
from localcdap.cli.main import run
from tests.e2e.old_instance.conftest import ARCHIVE

pytestmark = pytest.mark.spark


def test_columns_of_a_file_without_names_keep_their_numbers(
    tmp_path: Path, engine_directory: Path, monkeypatch: pytest.MonkeyPatch
):
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    home = tmp_path / "home"
    document = remove_schema(json.loads((home / "pipelines" / "readings.json").read_text()))
    with duckdb.connect(str(home / "localcdap.duckdb")) as database:
        database.execute(
            "UPDATE applications SET document = ? WHERE name = 'readings'", [json.dumps(document)]
        )
    monkeypatch.setenv("LOCALCDAP_ENGINE_DIRECTORY", str(engine_directory))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    (tmp_path / "imported.json").write_text(json.dumps(document))

    with connect(home) as cdap:
        before = cdap.tables.read_rows("default", "readings", 100)
        deployed = ask(home, "export", "readings")
        ended = ask(home, "run", "readings")
        after = cdap.tables.read_rows("default", "readings", 100)
        imported = ask(home, "validate", str(tmp_path / "imported.json"), code=1)

    properties = deployed["config"]["stages"][0]["plugin"]["properties"]
    assert properties["firstColumnNumber"] == "1"
    assert ended["status"] == "COMPLETED"
    assert (after.columns, sorted(after.rows)) == (before.columns, sorted(before.rows))
    assert after.columns == ["body_1", "body_2", "body_3", "body_4", "body_5"]
    (failure,) = imported["errors"]
    assert (failure["stage"], failure["field"]) == ("Readings", "firstColumnNumber")


def ask(home: Path, *arguments: str, code: int = 0) -> Any:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert run([*arguments, "--home", str(home), "--json"]) == code
    return json.loads(output.getvalue())


def remove_schema(document: dict) -> dict:
    del document["config"]["stages"][0]["plugin"]["properties"]["schema"]
    return document
