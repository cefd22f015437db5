"""Directives run on rows: what becomes of a record, whatever a directive does."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from localcdap.api.arrow import RecordCodec
from localcdap.api.directive import Directive, DirectiveError, ErrorRow, Row, plugin
from localcdap.api.schema import Schema, Type
from localcdap.plugin_lib.wrangler.recipe.batch import BatchTask, RecipeExecutor, RowFailure
from localcdap.plugin_lib.wrangler.recipe.spark_frame import FAILURE, SENT
from tests.plugin_lib.wrangler.directives.recipes import build_valid_directives

TEXT = Schema.STRING.as_nullable
GIVEN = Schema.record("given", [("a", TEXT)])


@plugin(type="directive", name="acts", description="Does what the text says.")
class Acts(Directive):
    def expand(self, row, context):
        value = row.value("a")
        if value == "fail":
            raise DirectiveError("as asked")
        if value == "break":
            raise ZeroDivisionError("broken")
        if value == "exit":
            sys.exit(3)
        if value == "send":
            raise ErrorRow("away", 7)
        if value == "drop":
            return ()
        if value == "twice":
            return (row, Row(a="again"))
        if value == "late":
            return (row, Row(a=5))
        context.variables["seen"] = value
        return (row,)


@plugin(type="directive", name="remembers", description="Adds what was seen.")
class Remembers(Directive):
    def change(self, row, context):
        row.put("seen", context.variables.get("seen"))


def outcome(value: Any, *directives: Directive) -> Any:
    executor = RecipeExecutor(directives or [Acts({})], {})
    executor.start()
    return executor.run({"a": value})


def test_rows_come_out_and_failures_are_reported_with_the_directive():
    prefix = "Error encountered while executing 'acts' : "

    assert outcome("x") == [{"a": "x"}]
    assert outcome("drop") == []
    assert outcome("twice") == [{"a": "twice"}, {"a": "again"}]
    assert outcome("fail") == RowFailure(FAILURE, 0, prefix + "as asked")
    assert outcome("break") == RowFailure(FAILURE, 0, prefix + "broken")
    assert outcome("exit") == RowFailure(FAILURE, 0, prefix + "3")
    assert outcome("send") == RowFailure(SENT, 7, "away")


def test_a_record_begins_without_the_variables_of_the_one_before():
    executor = RecipeExecutor([Acts({}), Remembers({})], {})
    executor.start()

    assert executor.run({"a": "x"}) == [{"a": "x", "seen": "x"}]
    assert executor.run({"a": "twice"}) == [
        {"a": "twice", "seen": None},
        {"a": "again", "seen": None},
    ]


def run_batch(values: list, *, errors: list | None = None, keeps: bool = False) -> list[dict]:
    task = BatchTask(
        lambda: [Acts({})],
        GIVEN,
        Schema.record("made", [("a", TEXT)]),
        {},
        is_final=False,
        has_errors=errors is not None,
        has_input=keeps,
    )
    columns = list(RecordCodec(GIVEN).encode([{"a": value} for value in values]).columns)
    if errors is not None:
        kind = pa.struct([("kind", pa.int32()), ("code", pa.int32()), ("message", pa.string())])
        columns.append(pa.array(errors, kind))
    if keeps:
        columns.append(pa.array([{"f0": value} for value in values]))
    batch = pa.RecordBatch.from_arrays(columns, names=[f"c{i}" for i in range(len(columns))])
    return [row for made in task(iter([batch])) for row in made.to_pylist()]


def convert_value(given: Schema, kind: str, values: list) -> list:
    """What set-type makes of a column in a batch."""
    row = Schema.record("row", [("a", given.as_nullable)])
    made = Schema.record("made", [("a", Schema.of(Type(kind)).as_nullable)])
    task = BatchTask(
        lambda: build_valid_directives(f"set-type :a {kind}"),
        row,
        made,
        {},
        is_final=True,
        has_errors=False,
        has_input=False,
    )
    (batch,) = task(iter([RecordCodec(row).encode([{"a": value} for value in values])]))
    return batch.columns[0].to_pylist()


def test_floats_of_32_bits_are_written_as_java_writes_them():
    values = [0.1, 22.4, 1e10, float("nan"), None]

    assert convert_value(Schema.FLOAT, "string", values) == ["0.1", "22.4", "1.0E10", "NaN", None]


def test_numbers_become_as_many_bytes_as_their_type_has():
    assert convert_value(Schema.INT, "bytes", [10000]) == [bytes([0, 0, 39, 16])]
    assert convert_value(Schema.LONG, "bytes", [10000]) == [bytes([0, 0, 0, 0, 0, 0, 39, 16])]
    assert convert_value(Schema.FLOAT, "bytes", [10000.0]) == [bytes([70, 28, 64, 0])]
    assert convert_value(Schema.DOUBLE, "bytes", [1e4]) == [bytes([64, 195, 136, 0, 0, 0, 0, 0])]


def test_a_batch_gives_rows_and_failures_each_with_its_record():
    rows = run_batch(["x", "fail", "twice", "drop", "send"], keeps=True)

    assert [(row["c0"], row["c1"] and row["c1"]["kind"], row["c2"]["f0"]) for row in rows] == [
        ("x", None, "x"),
        ("twice", None, "twice"),
        ("again", None, "twice"),
        (None, FAILURE, "fail"),
        (None, SENT, "send"),
    ]


def test_rows_that_failed_before_are_passed_on_as_they_are():
    reported = {"kind": SENT, "code": 3, "message": "before", "record": None}

    assert run_batch(["fail", "x"], errors=[reported, None]) == [
        {"c0": "x", "c1": None},
        {"c0": None, "c1": reported},
    ]


def test_a_record_fails_whole_when_one_of_its_rows_does_not_fit_the_columns():
    rows = run_batch(["x", "late", "y", "twice"])

    assert [row["c0"] for row in rows if row["c1"] is None] == ["x", "y", "twice", "again"]
    (failed,) = [row["c1"] for row in rows if row["c1"] is not None]
    assert failed["kind"] == FAILURE
    assert "'a'" in failed["message"]


def test_huge_and_broken_texts_do_no_harm():
    huge = "x" * 100_000_000
    rows = run_batch([huge])
    assert len(rows[0]["c0"]) == len(huge)

    failed = outcome(huge, Shouts({}))
    assert isinstance(failed, RowFailure)
    assert len(failed.message) <= 4000
    assert failed.message.encode("utf-8")


@plugin(type="directive", name="shouts", description="Fails with the whole text.")
class Shouts(Directive):
    def change(self, row, context):
        raise DirectiveError(row.value("a") + "\ud800")
