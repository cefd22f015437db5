"""Results of queries as files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from localcdap.api.errors import BadRequestError
from localcdap.files.result_files import SUFFIXES, format_json_records, write_result

RESULT = pa.table({"a": [1, None]})


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_results_are_written_in_each_form(tmp_path: Path, suffix: str):
    file = tmp_path / f"a{suffix.upper()}"
    write_result(RESULT, file)
    assert b"a" in file.read_bytes()
    assert list(tmp_path.iterdir()) == [file]


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path):
    file = tmp_path / "a.parquet"
    file.write_text("old")
    # Parquet has no type for intervals of months, days and nanoseconds.
    interval = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    with pytest.raises(BadRequestError, match="cannot be written"):
        write_result(pa.table({"a": interval}), file)
    assert file.read_text() == "old"
    with pytest.raises(BadRequestError, match="does not end with .csv, .json, .parquet"):
        write_result(RESULT, tmp_path / "a.xml")


@pytest.mark.parametrize(
    ("records", "text"),
    [
        ([], "[]\n"),
        ([{"a": 1}], '[\n  {"a": 1}\n]\n'),
        ([{"a": "é"}, None], '[\n  {"a": "é"},\n  null\n]\n'),
    ],
)
def test_records_are_a_json_array_with_a_line_for_each(records, text):
    assert format_json_records(records) == text
