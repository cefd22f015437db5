"""Recipes on files: types over all rows, failing rows, and files that are whole or not there."""

from __future__ import annotations

import csv
import datetime
import decimal
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from localcdap.api import Schema, StageError
from localcdap.api.errors import BadRequestError, SessionLostError
from localcdap.files.formats import FileInput
from localcdap.files.workbooks import read_sheet_cells
from localcdap.files.writers import OutputFile
from localcdap.plugin_lib.wrangler.files import jobs
from localcdap.plugin_lib.wrangler.files.jobs import continue_job, end_job, start_job
from localcdap.plugin_lib.wrangler.files.tasks import FileProgress, FileTask
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe


def apply(
    folder: Path, recipe: str, content: str, output: str = "out.json", **more: Any
) -> FileProgress:
    """Apply a recipe to a file of delimited text."""
    path = folder / "in.csv"
    path.write_text(content, encoding="utf-8")
    task = FileTask(FileInput(str(path)), str(folder / output), **more)
    start_job("job", task, load_recipe(recipe))
    while not (progress := continue_job("job", 0.01)).is_done:
        pass
    assert not jobs._jobs
    return progress


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_types_are_those_of_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_CHUNK", 2)
    values = ['{"n":1}', '{"n":2,"m":[1]}', "{}", '{"n":"x","k":null}', '{"n":1.5}']
    content = "\n".join(["j", *('"' + each.replace('"', '""') + '"' for each in values)])
    progress = apply(tmp_path, "parse-as-json :j 1", content, "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert found == [
        {"j_n": "1", "j_m": None, "j_k": None},
        {"j_n": "2", "j_m": [1], "j_k": None},
        {"j_n": None, "j_m": None, "j_k": None},
        {"j_n": "x", "j_m": None, "j_k": None},
        {"j_n": "1.5", "j_m": None, "j_k": None},
    ]
    assert (progress.rows_in, progress.rows_out) == (5, 5)
    assert progress.schema is not None
    assert progress.schema.field("j_n").schema == Schema.STRING.as_nullable


@pytest.mark.parametrize("output", ["out.csv", "out.tsv", "out.json", "out.parquet", "out.xlsx"])
def test_every_format_has_the_same_values(tmp_path: Path, output: str) -> None:
    recipe = (
        "parse-as-simple-date :d 'yyyy-MM-dd'; set-type :n long; set-type :m decimal; "
        "split-to-rows :t '/'"
    )
    content = 'd,n,m,t\n2024-01-02,5,1.50,=a/"b"\n,,,z\n'
    progress = apply(tmp_path, recipe, content, output)
    moment = datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)
    path = tmp_path / output
    match path.suffix:
        case ".parquet":
            found = [list(row.values()) for row in pq.read_table(path).to_pylist()]
            expected: Any = [[moment, 5, decimal.Decimal("1.50"), text] for text in ("=a", '"b"')]
            assert found == [*expected, [None, None, None, "z"]]
        case ".json":
            first = {"d": "2024-01-02T00:00:00Z", "n": 5, "m": "1.50", "t": "=a"}
            last = {**dict.fromkeys("dnm"), "t": "z"}
            assert read_lines(path) == [first, first | {"t": '"b"'}, last]
        case ".xlsx":
            _, rows = read_sheet_cells(str(path), 0)
            assert rows[0] == ["d", "n", "m", "t"]
            assert rows[1][1:] == [5, "1.50", "=a"]
            assert str(rows[1][0]).startswith("2024-01-02")
            assert rows[3] == ["", "", "", "z"]
        case suffix:
            with path.open(newline="") as stream:
                rows = list(csv.reader(stream, delimiter="\t" if suffix == ".tsv" else ","))
            assert rows == [
                ["d", "n", "m", "t"],
                ["2024-01-02T00:00:00Z", "5", "1.50", "=a"],
                ["2024-01-02T00:00:00Z", "5", "1.50", '"b"'],
                ["", "", "", "z"],
            ]
    assert progress.rows_out == 3


def test_a_failing_row_ends_the_job_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("before")
    with pytest.raises(BadRequestError, match=r"Row 2: directive 1, .*set-type"):
        apply(tmp_path, "set-type :a int", "a,b\n1,2\nx,3\n", "out.csv", errors=str(tmp_path / "e"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in.csv", "out.csv"]
    assert (tmp_path / "out.csv").read_text() == "before"


def test_failing_and_sent_rows_are_counted_and_written(tmp_path: Path) -> None:
    recipe = "send-to-error exp:{a == '0'} 'zero'; set-type :a int"
    errors = tmp_path / "errors.json"
    content = "a,b\n0,1\nx,2\n3,4,5\n6,7\n"
    progress = apply(tmp_path, recipe, content, errors=str(errors), skips_failures=True)
    assert (progress.rows_in, progress.rows_out, progress.failed, progress.sent) == (4, 1, 2, 1)
    assert [(each.row, each.is_sent) for each in progress.problems] == [
        (1, True),
        (2, False),
        (3, False),
    ]
    found = read_lines(errors)
    assert [each["record"] for each in found] == [
        {"a": "0", "b": "1"},
        {"a": "x", "b": "2"},
        "3,4,5",
    ]
    assert found[0]["message"] == progress.problems[0].message
    assert read_lines(tmp_path / "out.json") == [{"a": 6, "b": "7"}]


def test_a_value_that_does_not_fit_the_type_of_its_column_fails(tmp_path: Path) -> None:
    recipe = "set-column :b exp:{a == '1' ? 1 : 'x'}; set-type :b int"
    with pytest.raises(BadRequestError, match="Row 2: "):
        apply(tmp_path, recipe, "a\n1\n2\n")


@pytest.mark.parametrize(
    ("recipe", "output", "message"),
    [
        ("diff-date :zz :a :d", "out.csv", "zz"),
        ("", "out.pdf", "Choose one of|not one of a format"),
        ("", "in.csv", "is the input, too"),
        ("drop :a", "out.csv", "no columns"),
    ],
)
def test_wrong_tasks_are_refused(tmp_path: Path, recipe: str, output: str, message: str) -> None:
    with pytest.raises(BadRequestError, match=message):
        apply(tmp_path, recipe, "a\n1\n", output)
    assert not (tmp_path / "out.csv").exists()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StageError, match="cannot be written: No such file"):
        apply(tmp_path, "", "a\n1\n", "none/out.csv")


def test_a_job_that_is_ended_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a\n" + "1\n" * 50_000)
    task = FileTask(FileInput(str(path)), str(tmp_path / "out.csv"), errors=str(tmp_path / "e"))
    start_job("job", task, load_recipe("uppercase :a"))
    assert not continue_job("job", 0.001).is_done
    end_job("job")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(SessionLostError, match="no job"):
        continue_job("job", 1)


def test_a_slow_directive_does_not_keep_the_step(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a\n" + "1\n" * 3000)
    task = FileTask(FileInput(str(path)), str(tmp_path / "out.json"))
    start_job("job", task, load_recipe("parse-as-json :a"))
    job = jobs._jobs["job"]
    job._until = 0.0
    next(job._steps)
    assert job.progress.rows_in == 1
    end_job("job")


def test_texts_of_a_workbook_have_limits(tmp_path: Path) -> None:
    schema = Schema.record("r", [("a", Schema.STRING)])
    for value, message in (
        ("x" * 40_000, "at most 32,767"),
        ("\x01", "control characters|cannot have"),
    ):
        with (
            pytest.raises(StageError, match=message),
            OutputFile(str(tmp_path / "a.xlsx"), "excel", schema) as file,
        ):
            file.write([{"a": value}])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["in.csv", "out.json"])
def test_the_file_of_errors_takes_the_place_of_no_other(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadRequestError, match=r"is the (input|output), too"):
        apply(tmp_path, "", "a\n1\n", errors=str(tmp_path / name))
    assert (tmp_path / "in.csv").read_text() == "a\n1\n"
