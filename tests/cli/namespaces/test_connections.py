"""The command ``connections``: what is behind a connection."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from localcdap.cli.main import run
from localcdap.testing import TemporaryInstance

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    home = tmp_path_factory.mktemp("commands")
    (home / "data").mkdir()
    (home / "data" / "people.csv").write_text("id;name\n1;Ann\n2;Bob\n3;Cy\n")
    with TemporaryInstance(home) as made:
        assert made.cdap
        yield made


@pytest.fixture
def command(instance: TemporaryInstance, capsys: pytest.CaptureFixture[str]) -> Command:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["connections", *arguments, "--home", str(instance.home.path)])
        return code, *capsys.readouterr()

    assert call("put", "files", "--type", "File", "-p", "root=data")[0] == 0
    return call


def test_browse(command: Command) -> None:
    code, out, _ = command("browse", "files")
    assert code == 0
    assert "/people.csv  file" in out
    assert command("browse", "files", "--search", "none")[2] == "Nothing is there.\n"
    found = json.loads(command("browse", "files", "/people.csv", "--json")[1])
    assert found["entities"][0]["canSample"] is True
    code, _, error = command("browse", "files", "/../localcdap.toml")
    assert code != 0
    assert "leads out of the folder" in error


def test_sample(command: Command) -> None:
    code, out, how = command("sample", "files", "people.csv", "--limit", "2")
    assert (code, out.splitlines()) == (0, ["id  name", "1   Ann", "2   Bob"])
    assert how == "2 of 3 records; format csv, encoding UTF-8, delimiter ';', header true\n"
    options = ["--sample-type", "matching", "-p", "condition=name == 'Cy'"]
    _, out, how = command("sample", "files", "people.csv", *options)
    assert out.splitlines()[1:] == ["3   Cy"]
    assert "(matching)" in how
    _, out, _ = command("sample", "files", "people.csv", "-p", "header=false", "--json")
    assert len(json.loads(out)["result"]["records"]) == 4
    assert command("sample", "files", "people.csv", "--sample-type", "stratified")[0] != 0


def test_test_types_and_export(command: Command) -> None:
    assert command("test", "files") == (0, "The connection works.\n", "")
    code, _, error = command("test", "--type", "DuckDB", "-p", "path=none.db")
    assert code == 1
    assert "There is no file" in error
    assert command("test")[0] == 2
    assert "SQLite" in command("types")[1]
    exported = json.loads(command("export", "files")[1])
    assert exported["plugin"]["properties"] == {"root": "data"}


def test_an_export_is_imported_again(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "files.json"
    file.write_text(command("export", "files")[1].replace('"files"', '"again"'))
    assert command("import", str(file))[0] == 0
    assert command("test", "again")[0] == 0
    assert command("delete", "again")[0] == 0
