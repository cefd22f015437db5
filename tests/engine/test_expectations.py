"""Expectations in runs: what Spark counts is what :mod:`localcdap.expectations.batches` counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.engine.driver.execution import execute_plan
from localcdap.engine.messages.spool import RecordCounts
from localcdap.engine.plan.planner import plan_flow
from localcdap.expectations.rules import read_rules
from localcdap.testing import PipelineTester
from tests.engine import plugins
from tests.engine.plugins import NUMBERS
from tests.expectations.checked_records import RECORDS, RULES, SCHEMA

pytestmark = pytest.mark.spark
TEN = [{"n": n, "word": "w" if n else None} for n in range(10)]


def rules(*nodes):
    found, problems = read_rules(list(nodes))
    assert problems == []
    return found


@pytest.fixture
def pipeline(spark, tmp_path):
    return PipelineTester(spark, tmp_path)


class LocalTester(PipelineTester):
    """Runs pipelines as on this machine, where tasks see the directory of the run."""

    def build_run_context(self):
        context = super().build_run_context()
        context.message_directory = str(self._folder / "told")
        Path(context.message_directory).mkdir(exist_ok=True)
        return context


@pytest.fixture(params=[PipelineTester, LocalTester])
def any_pipeline(spark, tmp_path, request):
    return request.param(spark, tmp_path)


def test_spark_counts_what_batches_count(any_pipeline):
    pipeline = any_pipeline
    pipeline.source("in", SCHEMA, RECORDS)
    checked = rules(*(node for node, _ in RULES))
    pipeline.stage("same", plugins.SameFrame, {}, ["in"], expectations=checked)
    pipeline.sink("out", "same")

    counts = pipeline.run()

    expected = {r.label: number for r, (_, number) in zip(checked, RULES, strict=True)}
    assert {r.label: r.violations for r in pipeline.results} == expected
    assert {r.checked for r in pipeline.results if r.rows is None} == {6}
    assert counts["same"] == RecordCounts(in_=6, out=6)
    assert len(pipeline.read("out")) == 6


@pytest.mark.parametrize("same", [plugins.SameFrame, plugins.SameRecord, plugins.EvenTwice])
def test_violating_records_join_the_error_records(pipeline, same):
    pipeline.source("in", NUMBERS, TEN)
    pipeline.table("few", Schema.record("few", [("k", Schema.LONG)]), [{"k": k} for k in range(9)])
    checked = rules(
        {"rule": "not-null", "column": "word", "action": "error"},
        {"rule": "reference", "column": "n", "table": "few", "key": "k", "action": "error"},
        {"rule": "unique", "columns": ["n"], "action": "error"},
    )
    pipeline.stage("same", same, {}, ["in"], expectations=checked)
    pipeline.stage("next", plugins.SameRecord, {}, ["same"])
    pipeline.sink("out", "next")
    pipeline.collect_errors("errors", "same")

    counts = pipeline.run()

    errors = {(e["record"]["n"], e["message"]) for e in pipeline.read("errors")}
    own = {(n, "odd") for n in (1, 3, 5, 7, 9)} if same is plugins.EvenTwice else set()
    missing = (9, "Expectation violated: n is in few.k")
    no_word = (0, "Expectation violated: word is not null")
    repeated = {(n, "Expectation violated: n is unique") for n in (2, 4, 6, 8)}
    violations = {no_word} | (repeated if own else {missing})
    assert errors == own | violations
    written = sorted(r["n"] for r in pipeline.read("out"))
    assert written == ([2, 4, 6, 8] if own else [1, 2, 3, 4, 5, 6, 7, 8])
    # EvenTwice emits the even numbers twice, so that two records have n = 0
    error_count = 11 if own else 2
    assert counts["same"].error == error_count
    assert counts["same"].out == counts["next"].in_ == counts["next"].out == len(written)


def test_a_run_fails_for_a_rule_and_writes_nothing(any_pipeline, tmp_path):
    pipeline = any_pipeline
    pipeline.source("in", NUMBERS, TEN)
    checked = rules(
        {"rule": "unique", "columns": ["word"], "action": "fail"},
        {"rule": "not-null", "column": "word", "action": "fail", "allowedPercent": 10},
        {"rule": "range", "column": "n", "max": 4, "action": "fail", "allowedPercent": 20},
    )
    pipeline.stage("same", plugins.SameRecord, {}, ["in"], expectations=checked)
    pipeline.stage("out", plugins.ParquetSink, {"path": str(tmp_path / "out")}, ["same"])

    with pytest.raises(StageError) as caught:
        pipeline.run()

    assert caught.value.stage == "same"
    assert caught.value.message.splitlines() == [
        "Stage 'same': expected that word is unique; 8 of 10 records (80 %) violate it.",
        "Stage 'same': expected that n is at most 4; 5 of 10 records (50 %) violate it; 20 % may.",
    ]
    assert not (tmp_path / "out").exists()


def test_uniqueness_is_counted_once_for_several_readers(any_pipeline):
    pipeline = any_pipeline
    pipeline.source("in", NUMBERS, TEN)
    checked = rules(
        {"rule": "unique", "columns": ["word"]}, {"rule": "unique", "columns": ["word", "n"]}
    )
    pipeline.stage("same", plugins.SameFrame, {}, ["in"], expectations=checked)
    pipeline.sink("one", "same")
    pipeline.sink("other", "same")

    pipeline.run()

    assert [(r.label, r.violations) for r in pipeline.results] == [
        ("word is unique", 8),
        ("word, n are unique", 0),
    ]
    assert len(pipeline.read("one")) == len(pipeline.read("other")) == 10


def test_the_rules_of_a_sink_read_columns_that_it_does_not(pipeline):
    pipeline.source("in", NUMBERS, TEN)
    checked = rules({"rule": "not-null", "column": "word"}, {"rule": "row", "condition": "n < 9"})
    pipeline.stage("words", plugins.OnlyWord, {}, ["in"])
    pipeline.sink("all", "in")
    pipeline.flow.get_stage("all").expectations = checked
    pipeline.sink("out", "words")
    pipeline.flow.get_stage("out").expectations = rules({"rule": "row-count", "max": 9})

    counts = pipeline.run()

    found = {(r.stage, r.label): (r.violations, r.rows) for r in pipeline.results}
    assert found == {
        ("all", "word is not null"): (1, None),
        ("all", "n < 9"): (1, None),
        ("out", "at most 9 rows"): (1, 10),
    }
    assert counts["all"].in_ == counts["out"].in_ == 10


@pytest.mark.parametrize("key", ["k", "other", "word"])
def test_a_wrong_reference_is_found_before_a_record_is_read(pipeline, key):
    pipeline.source("in", NUMBERS, TEN)
    pipeline.table("few", Schema.record("few", [("word", Schema.STRING)]), [{"word": "w"}])
    checked = rules({"rule": "reference", "column": "n", "table": "few", "key": key})
    pipeline.stage("same", plugins.SameFrame, {}, ["in"], expectations=checked)
    pipeline.sink("out", "same")

    message = "is long, but 'word' of the table is string" if key == "word" else "has no column"
    with pytest.raises(StageError, match=message):
        pipeline.plan()


NESTED = Schema.record(
    "nested",
    [
        ("number", Schema.DOUBLE.as_nullable),
        ("word", Schema.STRING.as_nullable),
        ("list", Schema.array(Schema.STRING.as_nullable).as_nullable),
        ("inner", Schema.record("inner", [("x", Schema.LONG.as_nullable)]).as_nullable),
    ],
)
VALUES = [
    *(float("nan"), 0.0, -0.0, float("inf"), float("-inf"), 1.5, None, 1e308, 5e-324),
]
WORDS = [None, "", " ", "é", "e\u0301", "a\x00b", "x" * 5000]
NASTY = [
    {"number": number, "word": word, "list": given, "inner": {"x": None}}
    for number in VALUES
    for word in WORDS
    for given in (None, [], [None], ["a", None])
]
"""Each pair of a number and a word is there four times; zero is the same with both signs."""


def build_nasty_pipeline(pipeline, records):
    pipeline.source("in", NESTED, records)
    checked = rules(
        {"rule": "unique", "columns": ["number"]},
        {"rule": "unique", "columns": ["word"]},
        {"rule": "unique", "columns": ["number", "word"]},
        {"rule": "range", "column": "number", "max": 2},
        {"rule": "not-null", "column": "list"},
    )
    pipeline.stage("spread", plugins.Spread, {}, ["in"], expectations=checked)
    pipeline.sink("out", "spread")


def test_violations_are_counted_over_all_parts(any_pipeline):
    build_nasty_pipeline(any_pipeline, NASTY)

    any_pipeline.run()

    each = len(NASTY) // len(VALUES)
    found = {r.label: r.violations for r in any_pipeline.results}
    assert found == {
        "number is unique": 8 * each - 7,
        "word is unique": len(NASTY) * 6 // 7 - 6,
        "number, word are unique": 8 * 6 * 4 - 7 * 6,
        "number is at most 2": 3 * each,
        "list is not null": len(NASTY) // 4,
    }
    assert len(any_pipeline.read("out")) == len(NASTY)


def test_no_records_violate_nothing(any_pipeline):
    build_nasty_pipeline(any_pipeline, [])

    any_pipeline.run()

    assert {(r.violations, r.checked) for r in any_pipeline.results} == {(0, 0)}


def test_the_files_of_hashes_are_private_and_are_removed(spark, tmp_path):
    pipeline = LocalTester(spark, tmp_path)
    build_nasty_pipeline(pipeline, NASTY)
    context = pipeline.build_run_context()
    plan = plan_flow(pipeline.flow, context, counts=True)

    execute_plan(plan, pipeline.flow, spark, tag="hashes", block=context.block)

    files = list(Path(context.message_directory).iterdir())
    hashes = [file for file in files if file.name.startswith("keys-")]
    assert {file.stat().st_mode & 0o777 for file in hashes} == {0o600}
    plan.expectations.get_results()
    assert not any(file.exists() for file in hashes)
    with pytest.raises(StageError, match="The repeated values cannot be counted"):
        plan.expectations.get_results()


def take_profile(pipeline, spark):
    context = pipeline.build_run_context()
    context.profiles = True
    plan = plan_flow(pipeline.flow, context, counts=False)
    execute_plan(plan, pipeline.flow, spark, tag="profiles", block=context.block)
    (profile,) = plan.profiler.get_profiles()
    return profile


def test_a_profile_is_the_same_on_this_machine_and_on_a_cluster(spark, tmp_path):
    profiles = []
    for kind in (PipelineTester, LocalTester):
        pipeline = kind(spark, tmp_path)
        numbers = [{"n": n, "word": None} for n in range(20_000)]
        pipeline.source("in", NUMBERS, numbers)
        pipeline.sink("out", "in")
        profiles.append(take_profile(pipeline, spark))

    assert profiles[0] == profiles[1]
    assert profiles[0].rows == 20_000
    # then those whose place is a multiple of 128, and from 16,384 on of 256
    assert profiles[0].sampled == 1_000 + 120 + 15


def test_the_profile_of_a_sink_is_taken_from_a_sample(spark, any_pipeline):
    pipeline = any_pipeline
    pipeline.source("in", SCHEMA, RECORDS * 500)
    pipeline.sink("out", "in")

    profile = take_profile(pipeline, spark)

    columns = {each.name: each for each in profile.columns}
    assert (profile.stage, profile.rows) == ("out", 3000)
    assert 1000 <= profile.sampled < 2500
    assert 0.1 < columns["e mail"].nulls / profile.sampled < 0.25
    age, born = columns["age"], columns["born"]
    assert (age.type, age.distinct, age.lowest, age.highest) == ("int", 5, "-1", "200")
    assert (born.type, born.lowest, born.highest) == ("date", "1800-01-01", "2020-02-02")
    assert (columns["score"].lowest, columns["score"].highest) == ("-0.5", "10.5")
    assert (columns["is_old"].distinct, columns["is_old"].lowest) == (2, None)
