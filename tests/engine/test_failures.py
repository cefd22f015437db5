"""What a run says when a stage goes wrong."""

from __future__ import annotations

import pytest

from localcdap.api.errors import StageError
from localcdap.engine.plan.error_attribution import to_stage_error
from localcdap.engine.tasks.failures import to_failure
from localcdap.testing import PipelineTester
from tests.engine import plugins
from tests.engine.plugins import NUMBERS

pytestmark = pytest.mark.spark
TEN = [{"n": n, "word": "abc"[n % 3]} for n in range(10)]


@pytest.fixture
def pipeline(spark, tmp_path):
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", NUMBERS, TEN)
    return pipeline


def failure(pipeline, spark):
    with pytest.raises(StageError) as caught:
        pipeline.run()
    return caught.value


def test_a_plugin_that_raises_names_stage_record_and_its_own_lines(spark, pipeline):
    pipeline.stage("fine", plugins.SameRecord, {}, ["in"])
    pipeline.stage("broken", plugins.Broken, {"how": "raise"}, ["fine"])
    pipeline.sink("out", "broken")

    error = failure(pipeline, spark)

    assert error.stage == "broken"
    assert error.message == ("Stage 'broken': ValueError: cannot take 3. Record: {n: 3, word: 'a'}")
    assert any("plugins.py" in frame and "in transform" in frame for frame in error.__notes__)
    assert not any("runners.py" in frame for frame in error.__notes__)


@pytest.mark.parametrize(
    ("how", "said"), [("leave", "SystemExit: 0. Record: {n: 3"), ("die", "or a plugin ended it")]
)
def test_a_plugin_that_ends_its_process(spark, pipeline, how, said):
    pipeline.stage("broken", plugins.Broken, {"how": how}, ["in"])
    pipeline.sink("out", "broken")

    error = failure(pipeline, spark)

    assert error.stage == "broken"
    assert said in error.message


def test_a_plugin_that_reads_standard_input_gets_nothing_and_does_not_hang(spark, pipeline):
    pipeline.stage("broken", plugins.Broken, {"how": "ask"}, ["in"])
    pipeline.sink("out", "broken")
    pipeline.run()

    assert [r["word"] for r in pipeline.read("out") if r["n"] == 3] == [""]


def test_a_plugin_that_cannot_be_initialized(spark, pipeline):
    pipeline.stage("broken", plugins.Broken, {"how": "initialize"}, ["in"])
    pipeline.sink("out", "broken")

    assert failure(pipeline, spark).message == "Stage 'broken': OSError: no such model"


def test_a_package_that_workers_lack_is_named_with_what_to_do():
    raised = to_failure("W", ModuleNotFoundError("No module named 'lxml'"))

    error = to_stage_error(RuntimeError(f"Job aborted: {raised}"))

    assert error.message == "Stage 'W': Spark's Python workers have no module 'lxml'."
    assert "'packages' of the profile" in error.corrective_action


@pytest.mark.parametrize("between", [True, False])
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("null", "Field 'n' is null in a record, but its schema does not allow null"),
        ("type", "Field 'n' must be of type long, but a record holds 'three' (str)"),
    ],
)
def test_a_wrong_value_is_reported_on_the_stage_that_made_it(spark, pipeline, between, how, said):
    pipeline.stage("broken", plugins.Broken, {"how": how}, ["in"])
    if between:
        pipeline.stage("later", plugins.SameRecord, {}, ["broken"])
    pipeline.sink("out", "later" if between else "broken")

    error = failure(pipeline, spark)

    assert error.stage == "broken"
    assert said in error.message


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("type", "field 'n' is bigint in the output schema, but int in the data"),
        ("missing", "field 'word' is string in the output schema, but nothing in the data"),
        ("extra", "field 'more' is nothing in the output schema, but int in the data"),
        ("order", "field 'n' is order n, word in the output schema, but order word, n in the data"),
    ],
)
def test_data_that_differs_from_the_schema_fails_before_anything_is_read(
    spark, pipeline, tmp_path, how, said
):
    journal = tmp_path / "journal"
    pipeline.stage("first", plugins.AddOne, {"journal": str(journal)}, ["in"])
    pipeline.stage("liar", plugins.Liar, {"how": how}, ["first"])
    pipeline.sink("out", "liar")

    error = failure(pipeline, spark)

    assert error.stage == "liar"
    assert said in error.message
    assert not journal.exists()


def test_nullability_may_differ_in_both_directions(spark, pipeline):
    pipeline.stage("wider", plugins.Liar, {"how": "nullable"}, ["in"])
    pipeline.sink("out", "wider")

    assert pipeline.run()["out"].in_ == 10


def test_an_expression_that_spark_cannot_resolve(spark, pipeline):
    pipeline.stage("liar", plugins.Liar, {"how": "nonsense"}, ["in"])
    pipeline.stage("later", plugins.SameFrame, {}, ["liar"])
    pipeline.sink("out", "later")

    error = failure(pipeline, spark)

    assert error.stage == "liar"
    assert "nothing" in error.message
    assert error.details.code.startswith("UNRESOLVED_COLUMN")
    assert error.corrective_action is not None


def test_a_sink_whose_directory_has_files_fails_before_anything_is_read(spark, pipeline, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    pipeline.stage("out", plugins.ParquetSink, {"path": "taken"}, ["in"])

    error = failure(pipeline, spark)

    assert error.stage == "out"
    assert "already exists" in error.message
    assert [path.name for path in tmp_path.iterdir() if "localcdap" in path.name] == []


def test_when_one_sink_fails_nothing_of_the_others_appears(spark, pipeline, tmp_path):
    pipeline.stage("broken", plugins.Broken, {"how": "raise"}, ["in"])
    pipeline.stage("good", plugins.ParquetSink, {"path": "good"}, ["in"])
    pipeline.stage("bad", plugins.ParquetSink, {"path": "bad"}, ["broken"])

    failure(pipeline, spark)

    assert not (tmp_path / "good").exists()
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize(
    ("expression", "said", "record", "code"),
    [
        ("n * 9223372036854775807", "(overflow)", "{n: 2, word: 'c'}", "ARITHMETIC_OVERFLOW"),
        ("cast(word as bigint)", "value 'a'", "{n: 0, word: 'a'}", "CAST_INVALID_INPUT"),
        ("100 div (n - 7)", "Division by zero", "{n: 7, word: 'b'}", "DIVIDE_BY_ZERO"),
    ],
)
def test_an_expression_that_fails_on_a_value_names_stage_field_and_record(
    spark, pipeline, expression, said, record, code
):
    pipeline.stage("before", plugins.SameFrame, {}, ["in"])
    pipeline.stage("compute", plugins.Compute, {"expression": expression}, ["before"])
    pipeline.stage("after", plugins.SameFrame, {}, ["compute"])
    pipeline.sink("out", "after")

    error = failure(pipeline, spark)

    assert error.stage == "compute"
    assert error.message.startswith("Stage 'compute': field 'n': ")
    assert said in error.message
    assert error.message.endswith(f". Record: {record}")
    assert error.corrective_action is not None
    assert (error.details.code_type, error.details.code) == ("SPARK", code)
    assert not getattr(error, "__notes__", [])
    assert_plain(error.message)


@pytest.mark.parametrize(
    ("how", "said", "record"),
    [
        ("function", "field 'n': a number does not fit", "{n: 0, word: 'a'}"),
        ("condition", "the expression '100 div (n - 5)': Division by zero.", "{n: 5, word: 'c'}"),
        ("sum", "field 'n': a number does not fit", "{n: 9, word: 'a'}"),
        ("date", "field 'n': Text 'a' could not be parsed", "{n: 0, word: 'a'}"),
        ("udf", "field 'n': ValueError: cannot take six", "{n: 6, word: 'a'}"),
    ],
)
def test_what_spark_computes_for_a_stage_is_found_in_it(spark, pipeline, how, said, record):
    pipeline.stage("broken", plugins.BrokenFrame, {"how": how}, ["in"])
    pipeline.stage("python", plugins.SameRecord, {}, ["broken"])
    pipeline.sink("out", "python")

    error = failure(pipeline, spark)

    assert error.stage == "broken"
    assert error.message.startswith(f"Stage 'broken': {said}")
    assert f"Record: {record}" in error.message
    assert_plain(error.message)


def test_a_plugin_says_what_its_errors_mean(spark, pipeline):
    pipeline.stage("quota", plugins.Quota, {}, ["in"])
    pipeline.sink("out", "quota")

    error = failure(pipeline, spark)

    assert error.message == "Stage 'quota': The quota is used up. Record: {n: 3, word: 'a'}"
    assert error.corrective_action == "Ask for more."
    assert error.details == plugins.QUOTA


def assert_plain(message):
    """A message says nothing that only developers of Spark or of localcdap understand."""
    for text in (
        "Traceback",
        "SQLSTATE",
        "spark.",
        ".py",
        "[",
        "FilePiece(",
        "Exception:",
        "\tat ",
    ):
        assert text not in message


def test_a_source_whose_path_is_not_there(spark, tmp_path):
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.stage("in", plugins.ParquetSource, {"path": "nothing"})
    pipeline.sink("out", "in")

    error = failure(pipeline, spark)

    assert error.stage == "in"
    assert "Path does not exist" in error.message
    assert error.details.code == "PATH_NOT_FOUND"
    assert "[locations]" in error.corrective_action


def test_a_foreign_path_without_a_location(spark, tmp_path):
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.stage("in", plugins.ParquetSource, {"path": "gs://bucket/x"})

    error = failure(pipeline, spark)

    assert error.stage == "in"
    assert '"gs://bucket" = ' in error.corrective_action


def test_what_a_sink_wrote_can_be_read_again(spark, pipeline, tmp_path):
    pipeline.stage("out", plugins.ParquetSink, {"path": "made"}, ["in"])
    pipeline.run()
    again = PipelineTester(spark, tmp_path)
    again.stage("in", plugins.ParquetSource, {"path": "file:made"})
    again.sink("out", "in")

    assert again.run()["out"].in_ == 10
