"""Each table of docs/types.md: what a row says is what the product does."""

from __future__ import annotations

import datetime
import decimal
import functools
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from core_plugins.tables.cube_sink import FactMaker, FactMapping, parse_measurements
from google_cloud.bigquery.expressions import translate_type
from google_cloud.bigquery.refusals import refuse_unknown
from google_cloud.bigquery.sql import SqlError
from google_cloud.bigquery.types import to_column

from localcdap.api import Schema, StageError
from localcdap.files.types import detect_column_type
from localcdap.plugin_lib.json_values import make_json_reader
from localcdap.plugin_lib.record_texts import make_text_writer
from localcdap.plugin_lib.text_values import find_text_converter
from localcdap.plugin_lib.wrangler.recipe.output import OutputConverter
from localcdap.testing import artifact_ref, run_stage
from tests.conftest import REPOSITORY
from tests.plugin_lib.wrangler.directives import test_differences
from tests.plugin_lib.wrangler.directives.recipes import run
from tests.plugins import language_differences
from tests.plugins.core import test_cells, test_columnar_files, test_excel
from tests.plugins.core.support import ARTIFACT, schema_text
from tests.plugins.database import test_exact_values

_CODE = re.compile(r"`([^`]+)`")
_DAY = datetime.date(2026, 1, 2)
_NOON = datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC)


@functools.cache
def read_tables() -> dict[str, list[list[str]]]:
    """The rows of the tables, by the first row of each."""
    tables: dict[str, list[list[str]]] = {}
    rows: list[list[str]] | None = None
    for line in (REPOSITORY / "docs" / "types.md").read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            rows = None
        elif rows is None:
            rows = tables.setdefault(line, [])
        elif not line.startswith("| ---"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return tables


def rows_of(header: str) -> list[list[str]]:
    return read_tables()[header]


def list_codes(cell: str) -> list[str]:
    return [code.replace("\\\\", "\\") for code in _CODE.findall(cell)]


def test_every_table_is_tested():
    assert list(read_tables()) == [
        "| boundary | what is said there |",  # links, which another test follows
        TEXTS,
        DETECTED,
        CELLS,
        SCRIPTS,
        WRITTEN,
        SQL,
        COLUMNS,
        RECIPES,
        DIFFERENCES,
    ]


TEXTS = "| type | text | refused |"


@pytest.mark.parametrize("row", rows_of(TEXTS), ids=lambda row: row[0])
def test_texts_as_values(row):
    values = {"true": True, "TRUE": True, r"\x41": b"A", "x": "x"}
    for name in list_codes(row[0]):
        convert = find_text_converter(Schema.parse(name))
        assert convert is not None
        examples = list_codes(row[1])
        assert examples
        for text in examples:
            value = convert(text)
            assert values.get(text, value) == value or value != value
        refused = list_codes(row[2])
        assert refused or name in ("boolean", "string")
        for text in refused:
            with pytest.raises(ValueError, match=r"."):
                convert(text)


DETECTED = "| text | type |"


@pytest.mark.parametrize("row", rows_of(DETECTED), ids=lambda row: row[0])
def test_detected_types(row):
    texts = list_codes(row[0]) or ["", " "]
    for text in texts:
        found = detect_column_type([text])
        if row[1] == "null is allowed":
            assert found.is_nullable
        else:
            assert found == Schema.parse(re.split(r"[:,]", row[1])[0])


WRITTEN = "| type | text |"
_VALUES: dict[str, list[tuple[Schema, Any]]] = {
    "int": [(Schema.INT, 7)],
    "long": [(Schema.LONG, 7)],
    "boolean": [(Schema.BOOLEAN, True)],
    "string": [(Schema.STRING, "x")],
    "enum": [(Schema.enum(["x"]), "x")],
    "float": [(Schema.FLOAT, 0.10000000149011612)],
    "double": [(Schema.DOUBLE, 1e10)],
    "date": [(Schema.DATE, datetime.date(2026, 1, 2))],
    "time": [(Schema.TIME, datetime.time(1))],
    "timestamp": [(Schema.TIMESTAMP, _NOON)],
    "datetime": [(Schema.DATETIME, datetime.datetime(2026, 1, 2, 3, 4, 5))],
    "decimal": [(Schema.decimal(10, 2), decimal.Decimal("12.50"))],
    "bytes": [(Schema.BYTES, "ä".encode())],
    "array": [(Schema.array(Schema.INT), [1, 2])],
    "map": [(Schema.map(Schema.STRING, Schema.INT.as_nullable), {"a": 1, "b": None})],
    "record": [(Schema.record("r", [("day", Schema.DATE)]), {"day": _DAY})],
}


@pytest.mark.parametrize("row", rows_of(WRITTEN), ids=lambda row: row[0])
def test_values_as_texts(row):
    names = list_codes(row[0])
    texts = [
        make_text_writer(Schema.record("r", [("v", schema)]))({"v": value})["v"]
        for name in names
        for schema, value in _VALUES[name]
    ]
    assert texts == list_codes(row[1])


CELLS = (
    "| cell | source Excel | string of a file of the format `xls` | `parse-as-excel` "
    "| table in the prep area |"
)
"""``tests/plugins/core/test_cells.py`` has each kind of cell."""


SCRIPTS = "| field | in JavaScript | in Python |"


@pytest.mark.parametrize("row", rows_of(SCRIPTS), ids=lambda row: row[0])
def test_values_that_scripts_see(row):
    """The types of Python are those of the tests of PythonEvaluator."""
    for type in list_codes(row[0]):
        assert language_differences.see(type) == language_differences.SEEN[type][2]


SQL = "| in the SQL | its type here |"


@pytest.mark.parametrize("row", rows_of(SQL), ids=lambda row: row[0])
def test_types_of_sql(row):
    """Rows without the name of a type are those of the tests of BigQueryExecute."""
    from sqlglot import exp, parse_one

    names = {"long": "BIGINT", "double": "DOUBLE", "decimal": "DECIMAL(38, 9)"}
    for name in list_codes(row[0]):
        cast = parse_one(f"CAST(x AS {name})", read="bigquery")
        if row[1] == "refused":
            with pytest.raises(SqlError):
                refuse_unknown(cast, f"CAST(x AS {name})")
            continue
        for kind in list(cast.find_all(exp.DataType)):
            translate_type(kind)
        assert cast.args["to"].sql("duckdb") == names[row[1].split()[0].rstrip(";")]


COLUMNS = "| field of the BigQuery sink | column of a new table |"


def test_columns_of_bigquery():
    expected = {
        "int, long": [(Schema.INT, Schema.LONG), (Schema.LONG, Schema.LONG)],
        "float, double": [(Schema.FLOAT, Schema.DOUBLE), (Schema.DOUBLE, Schema.DOUBLE)],
        "decimal": [
            (Schema.decimal(5, 2), Schema.decimal(38, 9)),
            (Schema.decimal(38, 2), Schema.decimal(38, 2)),
            (Schema.decimal(12, 10), Schema.decimal(38, 10)),
        ],
        "string, enum": [(Schema.STRING, Schema.STRING)],
        "array, record": [(Schema.array(Schema.INT), Schema.array(Schema.LONG))],
    }
    assert [row[0] for row in rows_of(COLUMNS)] == list(expected)
    for field, column in (pair for pairs in expected.values() for pair in pairs):
        assert to_column(field) == column


RECIPES = "| value in the text of `parse-as-json` and `json-path` | value of the column |"


@pytest.mark.parametrize("row", rows_of(RECIPES), ids=lambda row: row[0])
def test_json_in_recipes(row):
    classes = {"long": int, "decimal": decimal.Decimal, "double": float}
    for text in list_codes(row[0]):
        (parsed,) = run("parse-as-json :a 1", {"a": f'{{"v": {text}}}'})
        (found,) = run("json-path :a :v '$.v'", {"a": f'{{"v": {text}}}'})
        for value in (parsed["a_v"], found["v"]):
            cls = classes.get(row[1].split()[0])
            if cls is None:
                assert value == json.loads(text)
            else:
                assert (type(value), value) == (cls, cls(text))


# -- differences ----------------------------------------------------------------------------

DIFFERENCES = "| in a pipeline | CDAP | here | reason |"


def read_json(type: Any, text: str) -> Any:
    schema = Schema.record("r", [("v", type)])
    return make_json_reader(schema)(f'{{"v": {text}}}')["v"]


def check_output_of_a_long() -> None:
    converter = OutputConverter(Schema.record("r", [("v", Schema.INT)]))
    (row,) = _run_rows({"v": 2**31 - 1})
    assert converter.convert(row) == {"v": 2**31 - 1}


def _run_rows(values: dict[str, Any]) -> list[Any]:
    from tests.plugin_lib.wrangler.directives.recipes import run_rows

    (rows,) = run_rows("keep :v", [values])
    assert isinstance(rows, list)
    return rows


def check_former_json() -> None:
    nullable = Schema.DOUBLE.as_nullable
    assert read_json(Schema.DATE, '"2026-01-02"') == _DAY
    assert read_json(Schema.TIME, '"01:00:00"') == datetime.time(1)
    assert read_json(Schema.decimal(5, 2), '"12.50"') == decimal.Decimal("12.50")
    assert str(read_json(nullable, '"NaN"')) == "nan"
    assert read_json(nullable, "null") is None


def check_dates_of_json() -> None:
    for days in ("-719163", "2932897"):
        with pytest.raises(ValueError, match=r"."):
            read_json(Schema.DATE, days)
    assert read_json(Schema.DATE, "-719162") == datetime.date(1, 1, 1)


def check_texts_without_java() -> None:
    types = (Schema.decimal(5, 2), Schema.BYTES, Schema.record("i", [("n", Schema.INT)]))
    given = {"a": decimal.Decimal("1.50"), "b": b"x", "c": {"n": 1}}
    write = make_text_writer(Schema.record("r", list(zip("abc", types, strict=True))))
    assert list(write(given).values()) == ["1.50", "x", '{"n":1}']


def check_cube() -> None:
    schema = Schema.record("r", [("day", Schema.DATE), ("at", Schema.TIMESTAMP), ("n", Schema.INT)])
    mapping = FactMapping(parse_measurements("n:COUNTER", "m"), "at")
    fact = FactMaker(mapping, schema).make({"day": _DAY, "at": _NOON, "n": 1})
    assert fact.dimensions["day"] == "2026-01-02"
    assert fact.timestamp == _NOON.timestamp()


def check_whole_numbers_of_recipes() -> None:
    (row,) = run("parse-as-json :a 1", {"a": '{"v": 18446744073709551617}'})
    assert row["a_v"] == decimal.Decimal(18446744073709551617)


def read_file(spark: Any, file: Path, **properties: str) -> list[dict[str, Any]]:
    source = artifact_ref(ARTIFACT, "batchsource", "File")
    given = {"referenceName": "r", "path": str(file)} | properties
    return run_stage(spark, source, given, directory=file.parent).records


def check_delimited_files(spark: Any, folder: Path) -> None:
    file = folder / "a.csv"
    file.write_text("2026-01-02,03:00:00\n")
    day = {"type": "int", "logicalType": "date"}
    time = {"type": "long", "logicalType": "time-micros"}
    found = read_file(spark, file, format="csv", schema=schema_text(day=day, time=time))
    assert found == [{"day": _DAY, "time": datetime.time(3)}]


def check_days_of_orc(spark: Any, folder: Path) -> None:
    days = [datetime.date(1582, 10, day) for day in (4, 5, 14, 15)]
    schema = Schema.record("r", [("day", Schema.DATE), ("days", Schema.array(Schema.DATE))])
    records = [{"day": days[0], "days": [day]} for day in days]
    records.append({"day": days[1], "days": []})
    sink = artifact_ref(ARTIFACT, "batchsink", "File")
    given = {"referenceName": "r", "path": "out", "format": "orc"}
    written = run_stage(spark, sink, given, {"in": (schema, records)}, directory=folder)

    (altered,) = written.altered
    assert (altered.count, altered.first) == (3, "field 'day': 1582-10-05")
    found = read_file(spark, folder / "out", format="orc", schema=str(schema))
    moved = [days[0], days[3], days[3], days[3]]
    expected = [{"day": days[0], "days": [day]} for day in moved]
    assert sorted(found, key=str) == sorted([*expected, {"day": days[3], "days": []}], key=str)


def check_date_under_timestamp(spark: Any, folder: Path) -> None:
    import pyarrow as pa
    from pyarrow import orc, parquet

    table, moment = pa.table({"at": [_DAY]}), {"type": "long", "logicalType": "timestamp-micros"}
    for write, format in ((parquet.write_table, "parquet"), (orc.write_table, "orc")):
        file = folder / f"a.{format}"
        write(table, file)
        with pytest.raises(StageError, match="'at' is of type date"):
            read_file(spark, file, format=format, schema=schema_text(at=moment))


_CHECKS: dict[str, Callable[..., None]] = {
    "`parse-as-csv` with a header": (
        test_differences.test_the_header_of_csv_is_the_only_row_that_is_dropped
    ),
    "`find-and-replace` on several": (
        test_differences.test_find_and_replace_on_two_columns_keeps_one_row
    ),
    "`find-and-replace` with an expression": (
        test_differences.test_an_expression_of_find_and_replace_that_fails_fails_the_row
    ),
    "`-n` for the lowest": (
        test_differences.test_the_negative_of_the_lowest_whole_number_is_positive
    ),
    "an int field of the output schema": check_output_of_a_long,
    "`precondition`": test_differences.test_a_precondition_has_functions_and_ignores_case,
    "dates and times in delimited files": check_delimited_files,
    "texts of dates, times and decimals": check_former_json,
    "dates and timestamps outside": check_dates_of_json,
    "timestamps of 96 bits": test_columnar_files.test_timestamps_of_96_bits_beside_new_ones,
    "an int64 that fits an int": test_columnar_files.test_files_of_one_folder_have_other_types,
    "dates of 5 to 14 October 1582": check_days_of_orc,
    "a date under a timestamp": check_date_under_timestamp,
    "a whole number over 64 bits": check_whole_numbers_of_recipes,
    "decimals, bytes and records": check_texts_without_java,
    "dates and times as dimensions": check_cube,
    "dates and times of PostgreSQL": test_exact_values.test_old_dates_and_times_are_read_and_written,
    "fractions of seconds": test_exact_values.test_old_dates_and_times_are_read_and_written,
    "several bits of MySQL": (
        test_exact_values.test_texts_of_mysql_get_no_blanks_and_its_bits_are_refused
    ),
    "dates without a time in": language_differences.check_dates_without_times,
    "a text without a date": language_differences.check_dates_that_are_not_understood,
    "numbers of `arithmetic:add`": language_differences.check_large_numbers,
    "`arithmetic:lcm` of decimals": language_differences.check_multiples_of_decimals,
    "a float in functions": language_differences.check_floats_of_functions,
    "lists, maps and bytes": language_differences.check_joined_values,
    "`+x`, `??`": language_differences.check_operators,
    "a number out of the range": language_differences.check_numbers_of_scripts,
    "NaN and infinite numbers": language_differences.check_infinite_numbers,
    "classes of Java": language_differences.check_classes_of_java,
    "formulas in the source Excel": test_cells.test_the_excel_source_has_the_texts_of_the_original,
    "a date that a formula gives": (
        test_cells.test_files_of_the_format_xls_have_the_values_of_the_original
    ),
    "cells with errors such as": (
        test_cells.test_files_of_the_format_xls_have_the_values_of_the_original
    ),
    "whole numbers in int and long": test_excel.test_rows_that_do_not_fit_are_left_out_or_fail,
    "texts with U+000D or U+0004": (test_cells.test_the_excel_source_has_the_texts_of_the_original),
    "dates of workbooks whose format": (
        test_cells.test_the_excel_source_has_the_texts_of_the_original
    ),
    "entities that a document": language_differences.check_entities,
}
"""By the beginning of a row. Those with parameters need Spark or files."""


def test_every_difference_is_checked():
    begins = [row[0] for row in rows_of(DIFFERENCES)]
    assert len(begins) == len(_CHECKS)
    assert all(text.startswith(key) for text, key in zip(begins, _CHECKS, strict=True))


@pytest.mark.parametrize(
    "check", [each for each in _CHECKS.values() if not inspect.signature(each).parameters]
)
def test_each_difference(check: Callable[[], None]):
    check()


@pytest.mark.spark
@pytest.mark.parametrize(
    "check", [check_delimited_files, check_date_under_timestamp, check_days_of_orc]
)
def test_differences_of_files(spark, tmp_path, check):
    check(spark, tmp_path)
