"""The pipeline tester and what it says when it is used wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.api import Schema
from localcdap.api.errors import BadRequestError, InvalidPipelineError, NotFoundError, StageError
from localcdap.testing import PipelineTester, artifact_ref, run_stage
from tests.conftest import REPOSITORY
from tests.engine import plugins

pytestmark = pytest.mark.spark
NUMBERS = plugins.NUMBERS
CORE = REPOSITORY / "plugins_dir" / "core-plugins"
TWO = [{"n": 1, "word": "a"}, {"n": 2, "word": None}]


def test_a_pipeline_of_given_records(cdap_pipeline: PipelineTester):
    cdap_pipeline.source("in", NUMBERS, TWO)
    cdap_pipeline.stage("even", plugins.EvenTwice, inputs=["in"])
    cdap_pipeline.sink("out", "even")
    cdap_pipeline.collect_errors("odd", "even")

    counts = cdap_pipeline.run()

    assert cdap_pipeline.read("out") == [{"n": 2, "word": None}] * 2
    assert cdap_pipeline.read("odd") == [
        {"record": {"n": 1, "word": "a"}, "code": 1, "message": "odd", "stage": "even"}
    ]
    assert (counts["even"].in_, counts["even"].out, counts["even"].error) == (2, 2, 1)


def test_no_records_are_a_source_too_and_names_are_any_text(cdap_pipeline: PipelineTester):
    cdap_pipeline.source("in/../x.y", NUMBERS, [])
    cdap_pipeline.sink("out / é", "in/../x.y")
    with pytest.raises(BadRequestError, match="No records were collected"):
        cdap_pipeline.read("out / é")

    cdap_pipeline.run()

    assert cdap_pipeline.read("out / é") == []
    with pytest.raises(BadRequestError, match=r"collected in 'in/../x.y'"):
        cdap_pipeline.read("in/../x.y")


def test_macros_have_the_values_of_the_arguments(spark, tmp_path: Path):
    pipeline = PipelineTester(spark, tmp_path, arguments={"what": "n"})
    pipeline.source("in", NUMBERS, TWO)
    distinct = artifact_ref(CORE, "batchaggregator", "Distinct")
    pipeline.stage("distinct", distinct, {"fields": "${what}"}, ["in"])
    pipeline.sink("out", "distinct")
    pipeline.run()

    assert sorted(record["n"] for record in pipeline.read("out")) == [1, 2]
    assert pipeline.flow.get_stage("out").input_schema.field_names == ["n"]
    with pytest.raises(InvalidPipelineError, match="nothing"):
        pipeline.stage("again", distinct, {"fields": "${nothing}"}, ["in"])


def test_plugins_look_into_the_tables_that_are_given(cdap_pipeline: PipelineTester):
    cdap_pipeline.source("in", NUMBERS, TWO)
    script = {
        "script": "function transform(i, e, c) { i.word = c.getLookup('t').lookup(i.n); e.emit(i); }",
        "lookup": '{"t": {}}',
    }
    plugin = artifact_ref(CORE, "transform", "JavaScript")
    with pytest.raises(InvalidPipelineError, match="no table 't'"):
        cdap_pipeline.stage("look", plugin, script, ["in"])
    pair = Schema.record("pair", [("key", Schema.INT), ("value", Schema.STRING)])
    cdap_pipeline.table("t", pair, [{"key": 2, "value": "two"}], key="key")
    cdap_pipeline.stage("look", plugin, script, ["in"])
    cdap_pipeline.sink("out", "look")
    cdap_pipeline.run()

    assert cdap_pipeline.read("out") == [{"n": 1, "word": None}, {"n": 2, "word": "two"}]


def test_wrong_use_is_reported_where_it_happens(cdap_pipeline: PipelineTester):
    with pytest.raises(StageError, match="'n'"):
        cdap_pipeline.source("wrong", NUMBERS, [{"n": "one"}])
    cdap_pipeline.source("in", NUMBERS, TWO)
    cdap_pipeline.stage("split", plugins.Parity, {}, ["in"], ports=["odd"])

    with pytest.raises(BadRequestError, match="a stage 'in' already"):
        cdap_pipeline.source("in", NUMBERS, [])
    with pytest.raises(BadRequestError, match="no stage 'inn'") as unknown:
        cdap_pipeline.sink("out", "inn")
    with pytest.raises(BadRequestError, match="no records with a known schema") as portless:
        cdap_pipeline.sink("out", "split")
    with pytest.raises(BadRequestError, match="on port 'strange'"):
        cdap_pipeline.sink("out", "split.strange")

    folder = REPOSITORY / "plugins_dir" / "condition-plugins"
    conditional = artifact_ref(folder, "condition", "Conditional")
    with pytest.raises(BadRequestError, match="handles no records"):
        cdap_pipeline.stage("if", conditional)

    assert unknown.value.corrective_action == "Stages so far: in, split."
    assert "odd" in portless.value.corrective_action
    assert [stage.name for stage in cdap_pipeline.flow.stages] == ["in", "split"]


def test_tables_that_were_not_given(spark, tmp_path: Path):
    table = artifact_ref(CORE, "batchsource", "Table")
    schema = Schema.record("t", [("a", Schema.STRING)])

    with pytest.raises(StageError, match="There is no table 't'"):
        run_stage(spark, table, {"name": "t", "schema": str(schema)}, directory=tmp_path)


def test_what_an_artifact_does_not_have():
    with pytest.raises(NotFoundError, match="no transform plugin 'Nothing'") as error:
        artifact_ref(CORE, "transform", "Nothing")

    assert "transform Projection" in error.value.corrective_action
