"""Each kind of cell of a workbook, in the Excel source, in files of the format xls, and in parse-as-excel.

``cells.table`` has a cell a line: its kind (number, text, boolean, formula, error, blank), value and format,
and what the code of the original makes of it with Apache POI: the text of the Excel source, that of
parse-as-excel, and the string and the double of the format xls. ``cells.xls`` is the workbook of these cells.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from core_plugins.files.excel_source import ExcelSelection, read_workbook

from localcdap.api.schema import Schema
from localcdap.plugin_lib.files.readers.columnar import read_sheet
from tests.plugin_lib.wrangler.directives.recipes import run

HERE = Path(__file__).parent
LINES = [line.split("\t") for line in (HERE / "cells.table").read_text("utf-8").splitlines()]
CELLS = [(kind, value, format, *map(json.loads, texts)) for kind, value, format, *texts in LINES]
FORMULAS: dict[str, tuple[Any, ...]] = {
    "1+1": ("2.0", "2.0", 2.0),
    "42799.5+0": ("Sun Mar 05 12:00:00 UTC 2017", "2017-03-05", 42799.5),
    '"a"&"b"': ("ab", "ab", None),
    '""': ("", None, None),
    "1=1": ("true", "TRUE", 1.0),
    "1/0": ("", None, None),
    "0.5": ("Sun Dec 31 12:00:00 UTC 1899", "12:00", 0.5),
}
"""Stored results of formulas, which the original leaves out, or takes the text of the formula for."""


@pytest.fixture(scope="module", params=["xls", "xlsx"])
def book(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "xls":
        return str(HERE / "cells.xls")
    made = openpyxl.Workbook()
    for number, (kind, value, format, *_) in enumerate(CELLS, 1):
        cell = made.active.cell(number, 1)
        set_value(cell, kind, value)
        cell.number_format = format or "General"
    path = tmp_path_factory.mktemp("book") / "cells.xlsx"
    made.save(path)
    return str(path)


def set_value(cell: Any, kind: str, text: str) -> None:
    match kind:
        case "n":
            cell.value = float(text)
        case "b":
            cell.value = text == "true"
        case "s":
            cell.value = json.loads(f'"{text}"')
        case "e":
            cell.value = text


def list_cells(book: str) -> list[tuple[Any, ...]]:
    """The cells of a book; a library that writes formulas does not store their results."""
    return [each for each in CELLS if each[0] != "f" or book.endswith(".xls")]


def test_the_excel_source_has_the_texts_of_the_original(book: str):
    schema = Schema.record("r", [(name, Schema.STRING) for name in ("file", "sheet", "A")])
    selection = ExcelSelection(0, (0,), False, False, None, fails=True)
    (batch,) = read_workbook(book, schema, selection)
    found = iter(batch.column("A").to_pylist())

    for kind, value, format, text, *_ in list_cells(book):
        expected = FORMULAS[value][0] if kind == "f" else text or ""
        if expected:  # rows without any value are left out
            got = next(each for each in found if each)
            assert got == expected, (value, format)


@pytest.mark.parametrize(("kind_of_field", "place"), [(Schema.STRING, 5), (Schema.DOUBLE, 6)])
def test_files_of_the_format_xls_have_the_values_of_the_original(
    book: str, kind_of_field: Schema, place: int
):
    schema = Schema.record("r", [("A", kind_of_field.as_nullable)])
    batches = read_sheet((book, "b"), str(schema), None, 0, first=0, ends_at_empty_row=False)
    found = [value for batch in batches for value in batch.column("A").to_pylist()]
    cells = [each if each in list_cells(book) else None for each in CELLS]

    for got, cell in zip(found, cells, strict=False):
        if cell is None:
            continue
        kind, value, format = cell[:3]
        expected = cell[place] and (
            float(cell[place]) if kind_of_field == Schema.DOUBLE else cell[place]
        )
        if kind == "f":
            expected = FORMULAS[value][place - 4]
        elif kind in "eB":
            expected = None
        if isinstance(expected, float):
            assert got == pytest.approx(expected, abs=6e-9), (value, format)  # a millisecond
        else:
            assert got == (expected or None), (value, format)


def test_parse_as_excel_has_the_texts_of_the_original(tmp_path: Path):
    cells = [each for each in CELLS if each[0] in "nsbe"]
    made = openpyxl.Workbook()
    for number, (kind, value, format, *_) in enumerate(cells, 1):
        cell = made.active.cell(number, 1)
        set_value(cell, kind, value)
        cell.number_format = format or "General"
        made.active.cell(number, 2).value = "end"
    made.save(tmp_path / "a.xlsx")
    rows = run("parse-as-excel :b", {"b": (tmp_path / "a.xlsx").read_bytes()})

    for row, (_, value, format, _, text, *_) in zip(rows, cells, strict=True):
        assert row.get("A", "") == text, (value, format)
