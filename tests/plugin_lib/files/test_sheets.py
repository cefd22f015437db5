"""Sheets of workbooks as records, and the schemas that they suggest."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.api.failures import FailureCollector
from localcdap.api.schema import Schema
from localcdap.files.titles import make_safe_names
from localcdap.plugin_lib.files.readers.columnar import detect_sheet_schema, read_sheet
from localcdap.plugin_lib.files.source_config import FileSourceConfig

TEXT, NUMBER, TRUTH = (each.as_nullable for each in (Schema.STRING, Schema.DOUBLE, Schema.BOOLEAN))


@pytest.fixture
def book(tmp_path: Path) -> str:
    made = openpyxl.Workbook()
    made.active.title = "First"
    sheet = made.create_sheet("Sales 2024")
    for row in (
        ["Id", "the name", "ok", "day", "the name"],
        [1, "ann", True, datetime.datetime(2024, 5, 6), 0.5],
        [2.5, 7, 0, None, None],
        [None, None, None, None, None],
        ["x", "bob", "TRUE", None, 4],
    ):
        sheet.append(row)
    made.save(tmp_path / "a.xlsx")
    return str(tmp_path / "a.xlsx")


def records(book: str, schema: Schema, **more: Any) -> list[dict[str, Any]]:
    how = {"path_field": None, "sheet": "sales 2024", "first": 1, "ends_at_empty_row": False} | more
    batches = list(read_sheet((book, "gs://b/a.xlsx"), str(schema), **how))
    return [record for batch in batches for record in RecordCodec(schema).decode(batch)]


def test_columns_are_fields_in_their_order(book: str):
    schema = Schema.record("r", [("a", NUMBER), ("b", TEXT), ("c", TRUTH), ("d", TEXT)])
    assert records(book, schema) == [
        {"a": 1.0, "b": "ann", "c": True, "d": "2024-05-06 0:00:00"},
        {"a": 2.5, "b": "7.0", "c": False, "d": None},
        {"a": None, "b": None, "c": None, "d": None},
        {"a": None, "b": "bob", "c": True, "d": None},
    ]
    other = Schema.record("r", [("a", TEXT), ("b", NUMBER), ("c", TEXT), ("d", NUMBER)])
    first = records(book, other)[0]
    assert first == {"a": "1.0", "b": None, "c": "TRUE", "d": 45418.0}


def test_the_path_is_no_column_and_an_empty_row_may_end_it(book: str):
    schema = Schema.record("r", [("a", TEXT), ("file", Schema.STRING), ("b", TEXT)])
    found = records(book, schema, path_field="file", ends_at_empty_row=True)
    assert found == [
        {"a": "1.0", "file": "gs://b/a.xlsx", "b": "ann"},
        {"a": "2.5", "file": "gs://b/a.xlsx", "b": "7.0"},
    ]
    assert len(records(book, schema, path_field="file", first=0)) == 5
    assert records(book, schema, path_field="file", sheet=0, first=0) == []


def test_what_cannot_be_read_is_reported(book: str, tmp_path: Path):
    schema = Schema.record("r", [("a", Schema.STRING)])
    with pytest.raises(StageError, match=r"has no sheet 7; its sheets are: First, Sales 2024\."):
        records(book, schema, sheet=7)
    with pytest.raises(StageError, match="a.xlsx"):  # null in a field that is never null
        records(book, schema)
    (tmp_path / "b.xlsx").write_text("no workbook")
    with pytest.raises(StageError, match="cannot be read as a workbook"):
        records(str(tmp_path / "b.xlsx"), schema)


def test_a_schema_is_taken_from_the_cells(book: str):
    def detected(**properties: str) -> Schema:
        given = {"referenceName": "r", "path": "p", "format": "xls", "sheet": "Sheet Name"}
        given |= {"sheetValue": "Sales 2024"} | properties
        return detect_sheet_schema(FileSourceConfig.build(given, FailureCollector("s")), book)

    # a date below a number or a boolean is a number: XlsInputFormatSchemaDetector
    whole = [("Id", TEXT), ("the_name", TEXT), ("ok", TEXT), ("day", TEXT), ("the_name_2", NUMBER)]
    assert detected(skipHeader="true") == Schema.record("xls", whole)
    two = [("Id", Schema.DOUBLE), ("the_name", Schema.STRING), ("ok", Schema.DOUBLE)]
    two += [("day", TEXT), ("the_name_2", NUMBER)]
    assert detected(skipHeader="true", sampleSize="2") == Schema.record("xls", two)
    assert detected().field_names == ["A", "B", "C", "D", "E"]
    with pytest.raises(StageError, match="has no rows"):
        detected(sheet="Sheet Number", sheetValue="0")


def test_names_are_safe_and_each_once():
    titles = [" First name", "", "2 x", "first Name", "", "FIRST NAME"]
    expected = ["First_name", "BLANK", "col_2_x", "first_Name_2", "BLANK_2", "FIRST_NAME_3"]
    assert make_safe_names(titles) == expected
