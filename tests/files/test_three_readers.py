"""Every sample file, read by the three readers: Python without Spark, Spark, and DuckDB through Arrow.

All three get their options from one description of the file. Where one of them gives something else, the
tables below say what and why.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from localcdap.api.errors import LocalcdapError
from localcdap.api.schema import Schema
from localcdap.files.delimited import UnreadableRow
from localcdap.files.formats import FileFormat, FileInput, build_source_properties, detect_format
from localcdap.files.rows import RowReader
from localcdap.files.types import guess_schema_of_rows
from localcdap.store.file_tables import FilePart, FileTable, open_files
from localcdap.testing import artifact_ref, run_stage
from tests.plugins.core.support import ARTIFACT

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
SAMPLES = Path(__file__).parent / "samples"
SUFFIXES = (".csv", ".tsv", ".txt", ".log", ".jsonl", ".parquet", ".orc", ".avro", ".xlsx", ".gz")
FILES = sorted(
    {
        *SAMPLES.iterdir(),
        *(file for file in (ROOT / "data").rglob("*") if file.suffix in SUFFIXES),
        *(file for file in (ROOT / "tests").rglob("*") if file.suffix in SUFFIXES),
    }
)

TITLE = [
    {"id": "id", "name": "name", "city": "city"},
    {"id": "1", "name": "Ann", "city": "Paris"},
    {"id": "2", "name": "Bob", "city": "Rome"},
]
OTHER_ON_SPARK = {
    # The format json of CDAP reads an object on each line.
    "array.json": "A line is not a JSON object",
    # CDAP fails the run for a line with too many values, also empty ones; the prep area shows the line.
    "delimiters_at_end.csv": "Found a row with 4 fields when the schema only contains 2 fields",
    "long_lines.csv": "Found a row with 3 fields when the schema only contains 2 fields",
    # Nobody knows the columns of an empty file, and of lines that are arrays.
    "empty.csv": "has no fields",
    "commons_lang.jsonl": "has no fields",
    "googlesql_nan.jsonl": "has no fields",
    "googlesql_values.jsonl": "has no fields",
    "gson_values.jsonl": "has no fields",
    "natty.jsonl": "has no fields",
    # A quote is not closed in one line: it fails the run, where the prep area shows what cannot be read.
    "purchases.csv": "Found a line with an unenclosed quote",
    # CDAP's sources leave out all quotes of a value.
    "quotes.csv": [
        {"id": "1", "text": "a, b", "note": "say hi"},
        {"id": "2", "text": None, "note": "plain"},
        {"id": "3", "text": " spaced ", "note": None},
    ],
    # CDAP's sources leave out one line, the header; a message says so where such a file is chosen.
    "title.csv": [{"id": None, "name": None, "city": None}, *TITLE],
    # Empty lines of delimited text are records of nulls in CDAP, and those of JSON fail.
    "empty_lines.csv": [
        {"id": None, "name": None},
        {"id": "1", "name": "Ann"},
        {"id": None, "name": None},
        {"id": None, "name": None},
        {"id": "2", "name": "Bob"},
    ],
    "lines.jsonl": "A line is not a JSON object",
}
OTHER_IN_DUCKDB = {
    # Views of file sets read an object on each line, as Hive does.
    "array.json": "JSON parse error",
    # Arrow refuses lines with more or fewer values than columns.
    "delimiters_at_end.csv": "Expected 2 columns, got 4",
    "long_lines.csv": "Expected 2 columns, got 3",
    "short_lines.csv": "Expected 3 columns, got 2",
    "purchases.csv": "Expected 4 columns, got 2",
    "empty.csv": "at least one column",
    "commons_lang.jsonl": "at least one column",
    "googlesql_nan.jsonl": "at least one column",
    "googlesql_values.jsonl": "at least one column",
    "gson_values.jsonl": "at least one column",
    "natty.jsonl": "at least one column",
    # A file set has no property for lines above the header.
    "title.csv": TITLE,
    # A file set has no format for workbooks.
    "book.xlsx": "Parquet magic bytes not found",
    # A file set has no property for the encoding.
    "latin1.csv": "invalid UTF8 data",
    "windows1252.csv": "invalid UTF8 data",
    "utf16.csv": "CSV parse error",
    # DuckDB tells an empty text in quotes from nothing; CDAP does not.
    "quotes.csv": [
        {"id": "1", "text": "a, b", "note": 'say "hi"'},
        {"id": "2", "text": "", "note": "plain"},
        {"id": "3", "text": " spaced ", "note": None},
    ],
}


def read_by_python(file: Path, format: FileFormat) -> tuple[Schema, list[Any]]:
    """The schema of a file, and its rows; those of JSON with every field."""
    reader = RowReader(FileInput(str(file)), format)
    rows = [row for row in reader if not isinstance(row, UnreadableRow)]
    reader.close()
    schema = reader.schema or guess_schema_of_rows(rows, is_text=False)
    return schema, [{name: row.get(name) for name in schema.field_names} for row in rows]


def read_by_spark(spark, file: Path, format: FileFormat, schema: Schema) -> list[Any]:
    properties = {"referenceName": "r", "path": str(file)} | build_source_properties(format)
    if format.format != "excel":  # a source of workbooks has types of its own
        properties["schema"] = str(schema)
    ref = artifact_ref(ARTIFACT, "batchsource", "File")
    return run_stage(spark, ref, properties, counts=False).records


def read_by_duckdb(file: Path, format: FileFormat, schema: Schema) -> list[Any]:
    table = FileTable(
        str(file.parent),
        format.format,
        str(schema),
        parts=(FilePart(file.name),),
        delimiter=format.delimiter,
        has_header=format.header,
    )
    with duckdb.connect() as connection:
        return connection.from_arrow(open_files(table)).to_arrow_table().to_pylist()


def compare(read, expected: list[Any], other: str | list[Any] | None) -> None:
    """Check that a reader gives the rows, or else what a table says."""
    if isinstance(other, str):
        with pytest.raises((LocalcdapError, duckdb.Error), match=other):
            read()
    else:
        assert read() == (expected if other is None else other)


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_three_readers_agree(spark, file: Path) -> None:
    format = detect_format(FileInput(str(file)))
    schema, rows = read_by_python(file, format)
    spark_rows = OTHER_ON_SPARK.get(file.name)
    duckdb_rows = OTHER_IN_DUCKDB.get(file.name)
    compare(lambda: read_by_spark(spark, file, format, schema), rows, spark_rows)
    compare(lambda: read_by_duckdb(file, format, schema), rows, duckdb_rows)


def test_the_tables_name_files() -> None:
    names = {file.name for file in FILES}
    assert OTHER_ON_SPARK.keys() | OTHER_IN_DUCKDB.keys() <= names
