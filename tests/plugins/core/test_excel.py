"""The Excel source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from core_plugins.files.excel_source import ExcelSelection, parse_column_letters, read_workbook

from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.testing import run_stage
from tests.plugins.core.support import configure, messages, plugin_ref
from tests.plugins.core.workbooks import write_workbook

BASE = {"referenceName": "r", "filePath": "books", "sheetValue": "People"}
PEOPLE: list[list[Any]] = [
    ["id", "name", "score", "on"],
    [1, "Ann", 1.5, True],
    [],
    [2, "Bo <&>", None, False],
    ["x", "Cy", 3, True],
]


def rows(path: Path, **chosen: Any) -> list[dict[str, Any]]:
    schema = Schema.record(
        "r",
        [
            ("file", Schema.STRING),
            ("sheet", Schema.STRING),
            ("n", chosen.pop("kind", Schema.INT)),
            ("B", Schema.STRING),
        ],
    )
    defaults: dict[str, Any] = {
        "sheet": "People",
        "columns": (0, 1),
        "skip_first_row": True,
        "ends_at_empty_row": False,
        "rows_limit": None,
        "fails": False,
    }
    selection = ExcelSelection(**defaults | chosen)
    return [
        {"n": row["n"], "B": row["B"]}
        for batch in read_workbook(str(path), schema, selection)
        for row in batch.to_pylist()
    ]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    write_workbook(tmp_path / "a.xlsx", {"Other": [["no"]], "People": PEOPLE})
    return tmp_path / "a.xlsx"


def test_columns_are_chosen_named_and_typed():
    result = configure(
        "batchsource",
        "Excel",
        BASE | {"columnList": "A,C,B", "columnMapping": "A:id", "outputSchema": "C:double"},
    )

    assert messages(result) == []
    assert result.output_schema is not None
    assert [(f.name, f.schema) for f in result.output_schema] == [
        ("file", Schema.STRING),
        ("sheet", Schema.STRING),
        ("id", Schema.STRING),
        ("C", Schema.DOUBLE),
        ("B", Schema.STRING),
    ]


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        (
            {"columnList": ""},
            "'Field Name Schema Type Mapping' and 'Columns To Be Extracted' cannot both be empty.",
        ),
        ({"sheet": "Sheet Number"}, "Invalid sheet number: 'People'."),
        ({"rowsLimit": "many"}, "Invalid row limit: 'many'."),
        ({"columnList": "A1"}, "'A1' is not a column of a sheet."),
        ({"outputSchema": "A:date"}, "Invalid type 'date' of column 'A'."),
        (
            {"columnMapping": "C:x"},
            "Column: 'C' in 'Column-Label Mapping' must be included in 'Column To Be Extracted'.",
        ),
        (
            {"columnMapping": "A"},
            "Column: 'A' in 'Column-Label Mapping' must have an alias specified.",
        ),
        ({"columnMapping": "A:sheet"}, "Several fields would have the name 'sheet'."),
        ({"memoryTableName": "seen"}, "Files that were already read are not tracked here."),
        (
            {"ifErrorRecord": "Write to error dataset"},
            "Rows with errors cannot be written into a table here.",
        ),
        (
            {"filePattern": "["},
            "Invalid regular expression '[': unterminated character set at position 0.",
        ),
    ],
)
def test_what_is_wrong_is_said(properties: dict[str, str], expected: str):
    result = configure("batchsource", "Excel", BASE | {"columnList": "A,B"} | properties)

    assert messages(result) == [expected]


def test_rows_that_do_not_fit_are_left_out_or_fail(book: Path, caplog: pytest.LogCaptureFixture):
    assert rows(book) == [{"n": 1, "B": "Ann"}, {"n": 2, "B": "Bo <&>"}]
    assert f"row 5 of sheet 'People' of '{book}': 'x' is not a value of type int" in caplog.text
    with pytest.raises(StageError, match="Terminating processing on error: row 5"):
        rows(book, fails=True)
    with pytest.raises(StageError, match=r"Encountered empty row .*row 3"):
        rows(book, ends_at_empty_row=True)
    assert rows(book, rows_limit=1) == [{"n": 1, "B": "Ann"}]
    assert rows(book, sheet=0, skip_first_row=False, kind=Schema.STRING) == [{"n": "no", "B": ""}]


def test_cells_become_texts_of_java(book: Path):
    texts = [row["n"] for row in rows(book, columns=(2, 1), kind=Schema.STRING)]
    assert texts == ["1.5", "", "3.0"]
    flags = [row["n"] for row in rows(book, columns=(3, 1), kind=Schema.BOOLEAN)]
    assert flags == [True, False, True]


def test_what_is_no_workbook_is_refused(book: Path, tmp_path: Path):
    with pytest.raises(StageError, match="its sheets are: Other, People"):
        rows(book, sheet="Persons")
    (tmp_path / "b.xlsx").write_text("no workbook")
    with pytest.raises(StageError, match="cannot be read as a workbook"):
        rows(tmp_path / "b.xlsx")
    write_workbook(tmp_path / "cut.xlsx", {"People": PEOPLE})
    content = (tmp_path / "cut.xlsx").read_bytes()
    (tmp_path / "cut.xlsx").write_bytes(content[: len(content) // 2])
    with pytest.raises(StageError, match="cannot be read as a workbook"):
        rows(tmp_path / "cut.xlsx")


def test_letters_are_numbers():
    assert [parse_column_letters(each) for each in ("A", "z", "AA", "XFD", "XFE", "", "A1")] == [
        0,
        25,
        26,
        16383,
        None,
        None,
        None,
    ]


@pytest.mark.spark
def test_all_workbooks_of_a_folder_are_read(spark: Any, tmp_path: Path):
    (tmp_path / "books").mkdir()
    for name in ("a.xlsx", "b.xlsx"):
        write_workbook(tmp_path / "books" / name, {"People": PEOPLE[:2]})
    (tmp_path / "books" / "readme.txt").write_text("x")
    properties = BASE | {
        "filePattern": r".*\.xlsx",
        "outputSchema": "A:long,B:string",
        "columnMapping": "A:id",
        "skipFirstRow": "true",
    }

    run = run_stage(spark, plugin_ref("batchsource", "Excel"), properties, directory=tmp_path)

    assert sorted((r["file"], r["sheet"], r["id"], r["B"]) for r in run.records) == [
        ("a.xlsx", "People", 1, "Ann"),
        ("b.xlsx", "People", 1, "Ann"),
    ]
    none = BASE | {"filePattern": "x", "columnList": "A"}
    with pytest.raises(StageError, match="None of the 3 files"):
        run_stage(spark, plugin_ref("batchsource", "Excel"), none, directory=tmp_path)
