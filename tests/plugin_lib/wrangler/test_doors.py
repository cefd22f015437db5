"""One recipe has one answer, whatever door it comes through and whatever file has the rows."""

from __future__ import annotations

import contextlib
import decimal
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from localcdap.api import Schema
from localcdap.api.arrow import RecordCodec
from localcdap.api.connector import SampleRequest
from localcdap.api.record_json import encode_json_record
from localcdap.files.formats import FileInput
from localcdap.files.writers import OutputFile
from localcdap.plugin_lib.connectors.file_records import read_file
from localcdap.plugin_lib.json_values import make_json_reader
from localcdap.plugin_lib.wrangler.files.formats import detect_recipe_format, find_first_directive
from localcdap.plugin_lib.wrangler.files.jobs import continue_job, start_job
from localcdap.plugin_lib.wrangler.files.tasks import FileTask
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.recipe.input import InputRows
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate, to_columns
from localcdap.plugin_lib.wrangler.recipe.samples import run_sample
from localcdap.plugin_lib.wrangler.recipe.spark_frame import SENT
from localcdap.plugin_lib.wrangler.workspaces.workspace import (
    SampleSource,
    Workspace,
)
from localcdap.sandbox.record_samples import take_sample
from localcdap.testing import artifact_ref
from localcdap.testing.pipeline import PipelineTester
from localcdap.workspace_views import ViewRequest
from tests.conftest import REPOSITORY

RECIPES = [
    "",
    "set-type :n integer",
    "set-type :n decimal",
    "set-type :n string; set-column :y exp:{n + 'a'}",
    "set-column :x exp:{n + 1}",
    "set-column :n exp:{9223372036854775807 + 1}",
    "set-column :x exp:{f + ''}",
    "filter-row exp:{name == 'bob'} true; set-column :k exp:{name.length()}",
    "send-to-error exp:{name == 'bob'} 'no bob'; set-type :n integer",
    "send-to-error-and-continue exp:{name == 'ann'}; fail exp:{n == 3}",
    "split-to-rows :name ','; set-column :m exp:{name + '!'}",
    "split-to-rows :name ','; set-type :name integer",
    "split-to-rows :name ','; send-to-error exp:{name == 'x'}",
    "split-to-columns :name ','; fill-null-or-empty :name 'none'",
    "parse-as-csv :name ',' false; drop :name",
    "set-variable v exp:{n}; set-column :v exp:{v}",
    "hash :name 'MD5' true; swap :name :n",
    "set-headers a,b",
    "change-column-case upper; rename :NAME :who; keep :who,:N",
    "set-column :x exp:{n == 1 ? 1 : 'x'}; set-type :x integer",
    "drop :missing; uppercase :absent",
]
ROWS: list[dict[str, Any]] = [
    {"n": 1, "name": "ann", "f": 0.1},
    {"n": None, "name": "bob", "f": None},
    {"n": 3, "name": "1,x,2", "f": 1.5},
    {"n": 2**53 + 1, "name": "4,5", "f": -0.25},
    {"n": None, "name": None, "f": 1e10},
]
SCHEMA = Schema.record(
    "r",
    [
        ("n", Schema.LONG.as_nullable),
        ("name", Schema.STRING.as_nullable),
        ("f", Schema.FLOAT.as_nullable),
    ],
)


def write_text(path: Path, delimiter: str) -> None:
    lines = ["n,name,f".replace(",", delimiter)]
    for row in ROWS:
        texts = ["" if value is None else str(value) for value in row.values()]
        lines.append(delimiter.join(f'"{text}"' if "," in text else text for text in texts))
    path.write_text("\n".join(lines) + "\n")


def write_json(path: Path, *, is_array: bool) -> None:
    """Leave nulls out, and write a row whose keys have another order and case."""
    rows = [{k: v for k, v in row.items() if v is not None} for row in ROWS]
    rows.append({"f": 2, "NAME": "eve", "n": "seven"})
    texts = list(map(json.dumps, rows))
    path.write_text(f"[{','.join(texts)}]" if is_array else "\n".join([*texts, "[1]", ""]))


def write_arrow(path: Path) -> None:
    table = pa.Table.from_batches([RecordCodec(SCHEMA).encode(ROWS)])
    if path.suffix == ".orc":
        pyarrow.orc.write_table(table, path)
    else:
        pq.write_table(table, path)


def write_avro(path: Path) -> None:
    with path.open("wb") as stream:
        fastavro.writer(stream, SCHEMA.to_json(), ROWS)


def write_sheet(path: Path) -> None:
    with OutputFile(str(path), "excel", SCHEMA) as file:
        file.write(ROWS)
        file.finish()


WRITERS: dict[str, Callable[[Path], None]] = {
    "in.csv": lambda path: write_text(path, ","),
    "in.tsv": lambda path: write_text(path, "\t"),
    "in.json": lambda path: write_json(path, is_array=False),
    "array.json": lambda path: write_json(path, is_array=True),
    "in.parquet": write_arrow,
    "in.orc": write_arrow,
    "in.avro": write_avro,
    "in.xlsx": write_sheet,
}


class Outcome(NamedTuple):
    """What a door makes of a file."""

    rows: list[Any]
    failures: list[tuple[int, str, bool]]
    """The number of the record, the message, and whether a directive sent it to the error port."""
    schema: str


def encode(rows: list[Any]) -> list[Any]:
    return [encode_json_record(dict(row)) for row in rows]


def read(path: Path, recipe: str = "") -> InputRows:
    built, file = load_recipe(recipe), FileInput(str(path))
    rows = InputRows(file, detect_recipe_format(file, find_first_directive(built)))
    for _ in rows.find_types():
        pass
    return rows


def run_in_rows(path: Path, recipe: str) -> Outcome:
    """Every record through every directive: what all doors must give."""
    with contextlib.closing(read(path, recipe)) as rows:
        items = list(rows)
        found = propagate(load_recipe(recipe).steps, to_columns(rows.schema))
    numbers = [number for number, item in enumerate(items, 1) if isinstance(item, dict)]
    unreadable = [
        (number, item.message, False)
        for number, item in enumerate(items, 1)
        if not isinstance(item, dict)
    ]
    sampled = run_sample(
        found.directives, [each for each in items if isinstance(each, dict)], found.after, {}
    )
    failures = [
        (numbers[index], each.message, each.kind == SENT) for index, each in sampled.failures
    ]
    return Outcome(encode(sampled.rows), sorted(unreadable + failures), str(sampled.schema))


def apply(path: Path, recipe: str, output: str = "out.parquet") -> Outcome:
    result, errors = path.with_name(output), path.with_name("errors.json")
    task = FileTask(
        FileInput(str(path)), str(result), errors=str(errors), skips_failures=True, counts=True
    )
    start_job("job", task, load_recipe(recipe))
    while not (progress := continue_job("job", 1)).is_done:
        pass
    left_out = [json.loads(line) for line in errors.read_text().splitlines()]
    sent = {each.row for each in progress.problems if each.is_sent}
    failures = [
        (each["row"], re.sub(r"^directive \d+, ", "", each["message"]), each["row"] in sent)
        for each in left_out
    ]
    assert progress.failed + progress.sent == len(left_out)
    assert all(column.rows == progress.rows_out for column in progress.columns)
    with contextlib.closing(read(result)) as rows:
        found = list(rows)
    assert len(found) == progress.rows_out
    return Outcome(encode(found), failures, str(progress.schema))


def prepare(path: Path, recipe: str) -> Outcome:
    """What the prep area shows of a file."""
    built = load_recipe(recipe)
    workspace = Workspace(SampleSource(FileInput(str(path))), find_first_directive(built))
    while not (view := workspace.view(built, ViewRequest(limit=0))).is_complete:
        pass
    rows = [
        {name: row.get(name) for name in view.schema.field_names if view.schema is not None}
        for row in workspace.export_records(built, 10_000).made
    ]
    failures = [(each.record, each.message, each.is_sent) for each in view.failures]
    if view.steps:
        assert view.steps[-1].rows_out == view.row_count == len(rows)
        assert sum(each.failed + each.sent for each in view.steps) == len(failures)
    return Outcome(rows, sorted(failures), str(view.schema))


@pytest.mark.parametrize("name", WRITERS)
def test_files_and_samples_have_one_answer(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    with contextlib.closing(read(path)) as rows:
        unreadable = {number for number, item in enumerate(rows, 1) if not isinstance(item, dict)}
    for recipe in RECIPES:
        expected, applied, shown = (door(path, recipe) for door in (run_in_rows, apply, prepare))
        names = Schema.parse(applied.schema).field_names
        filled = [{name: row.get(name) for name in names} for row in expected.rows]
        assert applied.schema == shown.schema == expected.schema, recipe
        assert shown.rows == applied.rows, recipe
        assert len(applied.rows) == len(filled), recipe
        assert applied.failures == expected.failures, recipe
        # The sample has no numbers for records that cannot be read.
        assert [each[1:] for each in shown.failures] == [
            each[1:] for each in expected.failures if each[0] not in unreadable
        ], recipe


@pytest.mark.parametrize("output", ["out.csv", "out.tsv", "out.json", "out.parquet", "out.xlsx"])
@pytest.mark.parametrize("name", ["in.csv", "in.json", "in.parquet"])
def test_every_file_of_the_result_has_the_same_rows(tmp_path: Path, name: str, output: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    recipe = "send-to-error exp:{name == 'bob'}; split-to-rows :name ','; set-type :n long"
    expected = apply(path, recipe)
    found = apply(path, recipe, output)
    assert (found.failures, found.schema) == (expected.failures, expected.schema)
    texts = [[write_value(each) for each in row.values()] for row in expected.rows]
    assert [[write_value(each) for each in row.values()] for row in found.rows] == texts


def write_value(value: Any) -> str:
    """The text of a value, however a format holds it: numbers as doubles, null as an empty text."""
    if value is None or value == "":
        return ""
    if isinstance(value, float):  # files of JSON have the double that a 32-bit float is
        return f"{value:.7g}"
    with contextlib.suppress(decimal.InvalidOperation):
        number = decimal.Decimal(str(value))
        return str(value) if number == number.to_integral() else f"{number:.7g}"
    return str(value)


@pytest.mark.parametrize("count", [0, 1, 1999, 2000, 2001, 4000, 4001])
@pytest.mark.parametrize("name", ["in.csv", "in.json", "in.parquet"])
def test_no_number_of_rows_changes_the_answer(tmp_path: Path, name: str, count: int) -> None:
    path = tmp_path / name
    rows = [{"n": str(number), "t": "a,b" if number % 2 else "x"} for number in range(count)]
    schema = Schema.record("r", [(each, Schema.STRING.as_nullable) for each in "nt"])
    with OutputFile(str(path), name.partition(".")[2], schema) as file:
        file.write(rows)
        file.finish()
    recipe = "send-to-error exp:{n == '1998'}; fail exp:{n == '2000'}; split-to-rows :t ','"
    if not count and name == "in.json":
        return  # an empty file has no columns
    expected, applied, shown = (door(path, recipe) for door in (run_in_rows, apply, prepare))
    assert [(row["n"], row["t"]) for row in applied.rows] == [
        (row["n"], part)
        for row in rows
        if row["n"] not in ("1998", "2000")
        for part in row["t"].split(",")
    ]
    assert [each[0] for each in applied.failures] == [
        number for number in (1999, 2001) if number <= count
    ]
    assert applied.failures == expected.failures == apply(path, recipe, "out.csv").failures
    assert shown.rows == applied.rows[: len(shown.rows)]  # of the first 1,000 records


def test_records_of_json_with_two_names_that_differ_by_case_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text('{"a": 1, "b": 2}\n{"a": 1, "A": 2}\n{"A": 3}\n')
    outcome = apply(path, "set-column :c exp:{a}")
    assert outcome.rows == [{"a": 1, "b": 2, "c": 1}, {"a": 3, "b": None, "c": 3}]
    ((number, message, _),) = outcome.failures
    assert (number, "'a' and 'A' differ by case only" in message) == (2, True)


LINES = [
    '127.0.0.1 - - [02/Jan/2024:03:04:05 +0000] "GET / HTTP/1.1" 200 12',
    "no line of a log",
    "",
]


@pytest.mark.parametrize(
    ("name", "content", "recipe"),
    [
        ("in.log", "\n".join(LINES), "parse-as-log :body '%h %l %u %t \"%r\" %>s %b'; drop :body"),
        ("in.xml", "<a><b>1</b></a>\n<a><b>2</b></a>\n<a", "parse-xml-to-json :body 1"),
        ("in.json", '{"a":[1,2]}\n{"a":3}\n{\n', "parse-as-json :body 1; set-type :body_a integer"),
        ("in.txt", "a;1\nb;x\n", "parse-as-csv :body ';' false; set-type :body_2 integer"),
    ],
)
def test_lines_that_recipes_take_apart_have_one_answer(
    tmp_path: Path, name: str, content: str, recipe: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    expected, applied, shown = (door(path, recipe) for door in (run_in_rows, apply, prepare))
    assert applied.failures == shown.failures == expected.failures
    assert applied.schema == shown.schema == expected.schema
    assert shown.rows == applied.rows
    assert len(applied.rows) == len(expected.rows)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("name", ["in.json", "in.parquet"])
def test_a_pipeline_has_the_answer_of_files(spark: Any, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    with contextlib.closing(read(path)) as rows:
        records = [each for each in rows if isinstance(each, dict)]
        assert rows.schema is not None
        unreadable = sum(not isinstance(each, dict) for each in read(path))
        schema = rows.schema
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", schema, records)
    wrangler = artifact_ref(REPOSITORY / "plugins_dir" / "wrangler", "transform", "Wrangler")
    expected = {}
    for number, recipe in enumerate(RECIPES):
        expected[number] = apply(path, recipe)
        properties = {
            "directives": recipe,
            "schema": expected[number].schema,
            "on-error": "send-to-error-port",
        }
        pipeline.stage(f"w{number}", wrangler, properties, ["in"])
        pipeline.sink(f"o{number}", f"w{number}")
        pipeline.collect_errors(f"e{number}", f"w{number}")
    counts = pipeline.run()
    for number, outcome in expected.items():
        where = RECIPES[number]
        out, left_out = len(outcome.rows), len(outcome.failures) - unreadable
        found = counts[f"w{number}"]
        assert (found.in_, found.out, found.error) == (len(records), out, left_out), where
        made = sorted(map(write_row, encode(pipeline.read(f"o{number}"))))
        assert made == sorted(map(write_row, outcome.rows)), where
        failed = [write_row(encode_json_record(e["record"])) for e in pipeline.read(f"e{number}")]
        assert len(set(failed)) == left_out, where


def write_row(row: dict[str, Any]) -> str:
    """The text of a row, with 32-bit floats as their texts."""
    values = {
        name: float(f"{value:.7g}") if isinstance(value, float) else value
        for name, value in row.items()
    }
    return json.dumps(values, sort_keys=True, default=str)


MIXED = [
    '{"m": 1.10, "d": 2.50, "n": {"a": 1.20, "b": [1.0, 1E5]}, "l": [1.30, "x"]}',
    '{"m": "x", "d": 3, "n": {"a": 2, "b": [1]}, "l": []}',
    '{"m": {"a": 1.50, "b": [null, 1e-7]}, "n": {"a": "t", "b": []}, "l": [2]}',
    '{"m": 1E+5}',
]


def test_numbers_in_columns_of_texts_keep_their_digits(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text("\n".join(MIXED))
    expected, applied, shown = (door(path, "") for door in (run_in_rows, apply, prepare))
    assert [row["m"] for row in expected.rows] == [
        "1.10",
        "x",
        '{"a":1.50,"b":[null,1e-7]}',
        "1E+5",
    ]
    assert [row["d"] for row in expected.rows] == [2.5, 3.0, None, None]
    assert expected.rows[0]["n"] == {"a": "1.20", "b": [1.0, 100_000.0]}
    assert [row["l"] for row in expected.rows] == [["1.30", "x"], [], ["2"], None]
    assert expected == applied == shown

    sample = take_sample(read_file(str(path), {}), SampleRequest(), 60)
    workspace = Workspace(SampleSource(schema=sample.schema, records=sample.records))
    assert workspace.export_records(load_recipe(""), 10).made == expected.rows

    # A run with the schema that prep proposes reads the same texts.
    text = Schema.record("r", [("m", Schema.STRING)])
    read_record = make_json_reader(text)
    assert [read_record(MIXED[index])["m"] for index in (0, 1, 3)] == ["1.10", "x", "1E+5"]
