"""Numbers in records of JSON: with their literals only where a caller wants them."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest

from localcdap.files.json_records import parse_document_or_lines, read_json_records
from localcdap.java.strings import LiteralFloat
from localcdap.pipeline.recordings.rows import open_file
from localcdap.pipeline_tests.model import read_records

TEXTS = ['{"a": 1.10, "b": [2.50]}\n', '[{"a": 1.10, "b": [2.50]}]', '{\n"a": 1.10, "b": [2.50]}']


@pytest.mark.parametrize("text", TEXTS)
def test_records_can_be_sent_to_another_process(text: str) -> None:
    """An encoder of messages refuses subclasses of numbers."""
    (record,) = read_json_records(io.StringIO(text))
    assert msgspec.json.encode(record) == b'{"a":1.1,"b":[2.5]}'


@pytest.mark.parametrize("text", TEXTS)
def test_numbers_keep_their_literals_where_they_are_asked_for(text: str) -> None:
    (record,) = read_json_records(io.StringIO(text), keeps_literals=True)
    assert isinstance(record, dict)
    number, (nested,) = record["a"], record["b"]
    assert isinstance(number, LiteralFloat)
    assert (number.literal, nested.literal) == ("1.10", "2.50")


def test_records_of_tests_recordings_and_forms_can_be_sent(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text(TEXTS[1], encoding="utf-8")
    given = read_records(file).records
    recorded = list(open_file(file).open())
    typed = parse_document_or_lines(TEXTS[1])
    assert [msgspec.json.encode(rows) for rows in (given, recorded, typed)] == [
        b'[{"a":1.1,"b":[2.5]}]'
    ] * 3
