"""``localcdap datasets partitions``, with the files that SQL then reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcdap.cli.main import run

pytestmark = pytest.mark.usefixtures("command")  # the host of the folder "home"
CREATE = (
    "datasets",
    "create",
    "sales",
    "partitionedFileSet",
    *("-p", "format=text", "-p", "partitioning.fields.=year,city"),
    *("-p", "partitioning.field.year=INT", "-p", "partitioning.field.city=STRING"),
)


def call(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run([*arguments, "--home", str(folder / "home")])
    output = capsys.readouterr()
    return code, output.out, output.err


def test_partitions_are_added_listed_and_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path, capsys, *CREATE)[0] == 0
    folder = tmp_path / "home" / "filesets" / "default" / "sales" / "2026" / "rome"
    folder.mkdir(parents=True)
    (folder / "part-0").write_text("one\ntwo\n", encoding="utf-8")
    key = ("-w", "year=2026", "-w", "city=Rome")
    partitions = ("datasets", "partitions", "sales")

    assert "no such partitions" in call(tmp_path, capsys, *partitions)[2]
    code, output, _ = call(tmp_path, capsys, *partitions, "--add", "2026/rome", *key)
    assert (code, output) == (0, "Partition year=2026, city=Rome added to file set 'sales'.\n")
    assert call(tmp_path, capsys, *partitions, "--add", "other", *key)[0] == 1

    code, output, _ = call(tmp_path, capsys, *partitions, "-w", "year=2026")
    assert code == 0
    assert "2026  Rome  2026/rome" in output
    (found,) = json.loads(call(tmp_path, capsys, *partitions, "--json")[1])
    assert (found["key"], found["path"]) == ({"year": 2026, "city": "Rome"}, "2026/rome")
    query = "SELECT body FROM sales WHERE year = 2026"
    assert json.loads(call(tmp_path, capsys, "sql", query, "--json")[1])

    assert call(tmp_path, capsys, *partitions, "--drop", *key)[0] == 0
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-w", "year=x"), "The field 'year' must be a whole number, not 'x'"),
        (("-w", "month=1"), "no column 'month'"),
        (("--add", "p", "-w", "year=1"), "does not fit the partitioning"),
        (("--add", "../p", "-w", "year=1", "-w", "city=x"), "leads out of the folder"),
        (("--add", "p", "--drop"), "Use either --add or --drop"),
    ],
)
def test_wrong_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    call(tmp_path, capsys, *CREATE)
    code, _, error = call(tmp_path, capsys, "datasets", "partitions", "sales", *arguments)
    assert code == 2
    assert message in error


@pytest.mark.slow
def test_other_datasets_have_no_partitions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call(tmp_path, capsys, "datasets", "create", "kv", "keyValueTable")
    code, _, error = call(tmp_path, capsys, "datasets", "partitions", "kv")
    assert (code, "Dataset 'kv' is not a partitioned file set" in error) == (2, True)
