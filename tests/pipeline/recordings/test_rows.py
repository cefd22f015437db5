"""Recordings in files of every format, and what is wrong with files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import LogicalType, Schema
from localcdap.pipeline.recordings.rows import open_file, open_table

ROWS = [{"id": 1, "name": "ada"}, {"id": 2, "name": None}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
CSV = "id,name\n1,ada\n2,\n"
AVRO = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}],
}


def write(folder: Path, name: str) -> Path:
    file = folder / name
    table = pa.Table.from_pylist(ROWS)
    match file.suffix:
        case ".csv":
            file.write_text(f"\ufeff{CSV}")
        case ".tsv":
            file.write_text(CSV.replace(",", "\t"))
        case ".json":
            file.write_text(json.dumps(ROWS, indent=1))
        case ".jsonl":
            file.write_text(f"\n{LINES}\n")
        case ".gz":
            file.write_bytes(gzip.compress(LINES.encode()))
        case ".parquet":
            pq.write_table(table, file)
        case ".orc":
            pyarrow.orc.write_table(table, file)
        case ".avro":
            with file.open("wb") as stream:
                fastavro.writer(stream, AVRO, ROWS)
    return file


@pytest.mark.parametrize(
    "name", ["a.csv", "a.tsv", "a.json", "a.jsonl", "a.ndjson.gz", "a.parquet", "a.orc", "A.avro"]
)
def test_every_format_gives_the_same_rows_and_types(tmp_path, name):
    rows = open_file(write(tmp_path, name))
    expected = [{"id": "1", "name": "ada"}, {"id": "2", "name": ""}] if rows.is_text else ROWS
    assert list(rows.open()) == expected == list(rows.open())
    types = {field.name: field.schema.non_nullable for field in rows.schema}
    assert types == {"id": Schema.LONG, "name": Schema.STRING}


def test_the_files_of_a_folder_are_one_recording_without_its_markers(tmp_path):
    write(tmp_path, "part-1.csv")
    write(tmp_path, "part-0.csv")
    (tmp_path / "_SUCCESS").touch()
    assert [row["id"] for row in open_file(tmp_path).open()] == ["1", "2", "1", "2"]


def test_the_types_of_texts_are_guessed_and_codes_stay_texts(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(
        "whole,part,yes,day,at,zip,mixed,none\n"
        "1,1.5,true,2026-01-02,2026-01-02T03:04:05Z,01067,1,\n"
        "-2,2,FALSE,2026-12-31,2026-01-02 03:04+01:00,10115,x,\n"
    )
    types = {f.name: f.schema.non_nullable for f in open_file(file).schema}
    assert types == {
        "whole": Schema.LONG,
        "part": Schema.DOUBLE,
        "yes": Schema.BOOLEAN,
        "day": Schema.of(LogicalType.DATE),
        "at": Schema.of(LogicalType.TIMESTAMP_MICROS),
        "zip": Schema.STRING,
        "mixed": Schema.STRING,
        "none": Schema.STRING,
    }


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("gone.csv", None, "There is no recording"),
        ("empty.csv", b"", "is empty"),
        ("a.docx", b"x", "is of no format"),
        ("twice.csv", b"a,a\n1,2\n", "the first line must name every column once. It has a, a."),
        (
            "quote.csv",
            b'id,"na\n',
            "quote.csv: Line 1: the quote at the beginning of value 2 is not",
        ),
        ("short.csv", b"a,b\n1\n", "short.csv:2: 1 values, but 2 columns"),
        ("quote.csv", b'a,b\n"1,2\n', "quote.csv"),
        ("bad.json", b"{oops", "neither lines of JSON objects nor JSON documents"),
        ("list.jsonl", b"[1]\n", "Element 1 is not a JSON object"),
        ("latin.csv", "a\né\n".encode("latin-1"), "cannot be read"),
        ("bad.parquet", b"PAR1", "cannot be read"),
        ("bad.avro", b"Obj\x01", "cannot be read"),
    ],
)
def test_a_bad_file_is_one_clear_error(tmp_path, name, content, said):
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadRequestError) as error:
        list(open_file(file).open())
    assert said in error.value.message


def test_an_empty_folder_is_no_recording(tmp_path):
    with pytest.raises(BadRequestError, match="has no files"):
        open_file(tmp_path)


@pytest.mark.parametrize(
    ("suffix", "type", "good", "bad", "said"),
    [
        ("parquet", pa.timestamp("ns"), 1000, 1001, "field 'at' has the value 1970-01-01"),
        ("parquet", pa.uint64(), 5, 2**63, "field 'at' has the value 9223372036854775808"),
        ("orc", pa.timestamp("ns"), 0, 1, "does not fit the type timestamp"),
    ],
)
def test_a_value_that_would_change_is_an_error_with_field_and_row(
    tmp_path, suffix, type, good, bad, said
):
    file = tmp_path / f"a.{suffix}"
    values = [good] * 12_345 + [bad] + [good]
    table = pa.table(
        {
            "id": range(len(values)),
            "at": pa.array(values, pa.int64() if bad < 2**63 else type).cast(type),
        }
    )
    write = pyarrow.orc.write_table if suffix == "orc" else pq.write_table
    write(table.slice(0, 12_345), file)
    assert len(list(open_file(file).open())) == 12_345
    write(table, file)
    with pytest.raises(BadRequestError, match="Row 12,346: field") as error:
        list(open_file(file).open())
    assert said in error.value.message
    assert "Round the field" in error.value.corrective_action


def test_a_table_is_read_as_strictly():
    at = pa.array([0, 1], pa.timestamp("ns"))
    with pytest.raises(BadRequestError, match="Row 2: field 'at'"):
        list(open_table(pa.table({"at": at})).open())
    whole = open_table(pa.table({"at": at.slice(0, 1)}))
    assert list(whole.open()) == [{"at": "1970-01-01T00:00:00"}]
