"""Reducible aggregators: equal to plain ones on the same records, however these are divided."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api import Plugin, Record
from localcdap.api.arrow import RecordCodec
from localcdap.engine.messages.flow import Stage, Stream
from localcdap.engine.messages.spool import RecordCounts
from localcdap.engine.preview.python_stage import run_python_stage
from localcdap.engine.tasks import aggregation
from localcdap.engine.tasks.aggregation import GROUP, ReducingRunner
from localcdap.engine.tasks.pass_plan import PassStage
from localcdap.testing import PipelineTester, StageTester
from localcdap.testing.records import build_stage_data
from localcdap.testing.references import plugin_ref
from tests.engine.plugins import NUMBERS
from tests.engine.reducible_plugins import MOMENTS, Plain, Records, Reduced, Spread, Unsent

RECORDS = st.lists(
    st.fixed_dictionaries(
        {"n": st.integers(-(10**6), 10**6), "word": st.none() | st.sampled_from("abc")}
    )
)


def make_stage(cls: type[Plugin], **properties: str) -> PassStage:
    ref = plugin_ref(cls)
    schema = StageTester(cls, properties, NUMBERS).output_schema
    stage = Stage("stage", ref, properties, {"in": NUMBERS}, schema)
    return PassStage(ref, properties, build_stage_data(stage, {}), [Stream("in")])


def reduce_in_parts(records: list[Record], rows: int) -> list[Record]:
    """Return what the group of each key gives, with a batch of values for every few records."""
    import pyarrow as pa

    runner = ReducingRunner(make_stage(Reduced))
    codec = RecordCodec(NUMBERS)
    batches = (codec.encode(records[at : at + rows]) for at in range(0, len(records), rows))
    values = list(runner.group(batches, NUMBERS))
    if not values:
        return []
    table = pa.Table.from_batches(values).sort_by(GROUP).combine_chunks()
    emitted = runner.aggregate(iter(table.to_batches()), NUMBERS)
    return [r for streams in emitted for r in streams[runner.output].get_records()]


@given(records=RECORDS, rows=st.integers(1, 40), limit=st.sampled_from([1, 500, 10**8]))
def test_any_division_of_the_records_gives_the_result_of_the_plain_aggregator(records, rows, limit):
    plain = StageTester(Plain, {}, NUMBERS).run(records).records

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregation, "_MOST_BYTES", limit)  # spills after every batch, some, none
        patch.setattr(aggregation, "_ROWS", 2)
        reduced = reduce_in_parts(records, rows)

    assert sorted(reduced, key=str) == sorted(plain, key=str)
    assert StageTester(Reduced, {}, NUMBERS).run(records).records == plain


def test_as_many_groups_as_a_task_may_keep(monkeypatch):
    monkeypatch.setattr(aggregation, "_MOST_GROUPS", 3)
    runner = ReducingRunner(make_stage(Reduced))
    batch = RecordCodec(NUMBERS).encode([{"n": n, "word": "a"} for n in (1, 2, 3)])

    values = list(runner.group(iter([batch] * 3), NUMBERS))

    assert [each.num_rows for each in values] == [4, 4, 4]  # three of the modulus, and all


@pytest.mark.parametrize(
    "method",
    ["group_by", "initialize_aggregate_value", "merge_values", "merge_partitions", "finalize"],
)
def test_previews_call_every_method_and_attribute_its_error(method):
    batch = RecordCodec(NUMBERS).encode([{"n": n, "word": "a"} for n in (1, 1, 1, 1)])

    sound = run_python_stage(make_stage(Reduced), NUMBERS, batch)
    broken = run_python_stage(make_stage(Reduced, failsIn=method), NUMBERS, batch)

    made = RecordCodec(MOMENTS).decode(sound.batches[Stream("stage")])
    assert [(r["key"], r["total"]) for r in made] == [("(1, 'mod')", 4), ("all", 4)]
    (problem,) = broken.problems
    assert problem.message == f"ValueError: {method}"
    assert problem.trace is not None
    assert method in problem.trace


def test_values_that_consist_of_records_are_not_shared_by_groups():
    batch = RecordCodec(NUMBERS).encode([{"n": n, "word": None} for n in (1, 10, 100)])

    output = run_python_stage(make_stage(Records), NUMBERS, batch)

    made = RecordCodec(NUMBERS).decode(output.batches[Stream("stage")])
    assert made == [{"n": 111, "word": "a"}, {"n": 111, "word": "b"}]


def test_a_value_that_cannot_be_sent_is_an_error_of_its_stage():
    batch = RecordCodec(NUMBERS).encode([{"n": 1, "word": None}])

    (problem,) = run_python_stage(make_stage(Unsent), NUMBERS, batch).problems

    assert "The aggregate value, of type generator, cannot be sent to another" in problem.message


@pytest.mark.spark
def test_on_spark(spark, tmp_path):
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", NUMBERS, [{"n": n, "word": "abc"[n % 3]} for n in range(1000)])
    pipeline.stage("spread", Spread, {}, ["in"])
    for cls in (Plain, Reduced):
        pipeline.stage(cls.__name__, cls, {}, ["spread"])
        pipeline.sink(f"{cls.__name__} out", cls.__name__)
        pipeline.collect_errors(f"{cls.__name__} errors", cls.__name__)

    counts = pipeline.run()

    plain, reduced = (
        sorted(pipeline.read(f"{cls.__name__} out"), key=str) for cls in (Plain, Reduced)
    )
    assert reduced == plain
    assert len(plain) == 8
    (error,) = pipeline.read("Reduced errors")
    assert (error["stage"], error["record"]["n"]) == (
        "Reduced",
        sum(n for n in range(1000) if n % 5),
    )
    metrics = counts["Reduced"].metrics
    assert counts["Reduced"] == RecordCounts(
        in_=1000, out=8, error=1, alert=1, groups=8, metrics=metrics
    )
    assert metrics["merge_partitions"] == 16  # the values of three tasks
    assert metrics["initialize_aggregate_value"] < 100
    assert metrics["merge_values"] + metrics["initialize_aggregate_value"] == 1600
