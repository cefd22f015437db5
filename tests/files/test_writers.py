"""Delimited text as sinks write it. Files of rows are tested with the recipes that write them."""

from __future__ import annotations

import contextlib
import csv
import datetime
import decimal
import io
import math
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api import Schema, StageError
from localcdap.files.formats import FileInput, detect_format
from localcdap.files.result_files import to_csv
from localcdap.files.rows import RowReader
from localcdap.files.types import infer_value_type, replace_unknown
from localcdap.files.writers import OutputFile, format_delimited

SCHEMA = Schema.record("r", [("a", Schema.STRING.as_nullable), ("b", Schema.INT)])
ROWS = [{"a": "x", "b": 1}, {"a": None, "b": 2}]


@pytest.mark.parametrize(
    ("row", "line", "line_of_a_result"),
    [
        (["a", 1], "a,1\n", "a,1\n"),
        ([None, "a"], ",a\n", ",a\n"),
        (["", "a"], ",a\n", '"",a\n'),
        ([None], '""\n', '""\n'),
        ([""], '""\n', '""\n'),
        (["a,b", 'c"d'], '"a,b","c""d"\n', '"a,b","c""d"\n'),
        (["a\rb", "c\nd"], '"a\rb","c\nd"\n', '"a\rb","c\nd"\n'),
        ([" a ", "ä"], " a ,ä\n", " a ,ä\n"),
    ],
)
def test_lines_of_sinks_and_of_results_differ_in_nulls_only(row, line, line_of_a_result):
    assert format_delimited([row]) == line
    assert to_csv(row, []) == line_of_a_result


@given(st.lists(st.lists(st.text(max_size=5), min_size=1, max_size=3), max_size=4))
def test_delimited_text_reads_back(rows):
    assert list(csv.reader(io.StringIO(format_delimited(rows), newline=""))) == rows


@pytest.mark.parametrize("format", ["csv", "tsv", "json", "parquet", "excel"])
def test_a_file_is_replaced_when_it_is_complete(tmp_path: Path, format: str):
    file = tmp_path / "a"
    file.write_text("old")
    file.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(file)
    with OutputFile(str(link), format, SCHEMA) as output:
        output.write(ROWS)
        assert file.read_text() == "old"
        output.finish()

    assert file.read_bytes() != b"old"
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(tmp_path.iterdir()) == [file, link]


def test_a_file_that_is_not_finished_leaves_the_old_one(tmp_path: Path):
    file = tmp_path / "a.csv"
    file.write_text("old")
    with pytest.raises(KeyError), OutputFile(str(file), "csv", SCHEMA) as output:
        output.write([{"a": "x"}])

    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.csv", "old")]


def test_why_a_file_cannot_be_written(tmp_path: Path):
    file = tmp_path / "a.csv"
    file.write_text("old")
    file.chmod(0o444)
    for path, reason in (
        (file, "it is read-only"),
        (tmp_path / "no" / "a.csv", os.strerror(2)),
        (tmp_path, os.strerror(21)),
    ):
        with pytest.raises(StageError, match=f"'{path}' cannot be written: {reason}."):
            OutputFile(str(path), "csv", SCHEMA)


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (2**53 - 1, 2**53 - 1),
        (2**53 + 1, "9007199254740993"),
        (-(2**63), "-9223372036854775808"),
        (0.1, 0.1),
        (5e-324, 5e-324),
        (math.nan, "NaN"),
        (decimal.Decimal("1.50"), "1.50"),
        (datetime.date(1900, 3, 1), datetime.date(1900, 3, 1)),
        (datetime.date(1900, 2, 28), "1900-02-28"),
        (datetime.date(1850, 1, 2), "1850-01-02"),
        (
            datetime.datetime(2024, 1, 2, 3, 4, 5, 6000),
            datetime.datetime(2024, 1, 2, 3, 4, 5, 6000),
        ),
        (datetime.datetime(2024, 1, 2, 3, 4, 5, 6), "2024-01-02T03:04:05.000006"),
        (datetime.datetime(2024, 1, 2, 3, 4, 5, 6, datetime.UTC), "2024-01-02T03:04:05.000006Z"),
        (datetime.time(3, 4, 5, 6), "03:04:05.000006"),
    ],
)
def test_a_cell_has_the_text_of_what_its_numbers_do_not_hold(tmp_path: Path, value, cell):
    schema = Schema.record("r", [("a", replace_unknown(infer_value_type(value)))])
    path = tmp_path / "a.xlsx"
    with OutputFile(str(path), "excel", schema) as output:
        output.write([{"a": value}])
        output.finish()
    file = FileInput(str(path))
    with contextlib.closing(RowReader(file, detect_format(file))) as reader:
        assert list(reader) == [{"a": cell}]
