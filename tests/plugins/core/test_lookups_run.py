"""Rows looked up in tables of an instance: in runs, previews and trials, by scripts and recipes."""

from __future__ import annotations

from typing import Any

import pytest

from localcdap.pipeline.service import PipelineRequest
from localcdap.runs.preview.model import DebugRequest, GivenRecords, PreviewRequest
from localcdap.testing.instance import TemporaryInstance
from tests.plugins.core.support import record
from tests.plugins.core.test_key_values import csv, json_lines, json_sink, stage

pytestmark = pytest.mark.spark
LOOKUP = '{"tables": {"cities": {"type": "DATASET"}, "jobs": {"type": "DATASET"}}}'
ASKED = record(who="string", city="string")
ANSWERED = record(who="string", city="string", job=["string", "null"])
PYTHON = stage(
    "transform",
    "PythonEvaluator",
    lookup=LOOKUP,
    schema=str(ANSWERED),
    script="def transform(record, emitter, context):\n"
    "    job = context.getLookup('jobs').lookup(record['who'])\n"
    "    emitter.emit({**record, 'job': job})\n",
)
JAVASCRIPT = stage(
    "transform",
    "JavaScript",
    lookup=LOOKUP,
    script="function transform(input, emitter, context) {"
    "  const city = context.getLookup('cities').lookup(input.city);"
    "  if (city === null) emitter.emitError({errorCode: 4, errorMsg: 'nowhere', invalidRecord: input});"
    "  else emitter.emit({...input, who: input.who + ' of ' + city.title}); }",
)
WRANGLER = stage("transform", "Wrangler", directives="table-lookup :city 'cities'")
FOUND = [
    {
        "who": "ada of Paris",
        "city": "p",
        "job": "engineer",
        "city_title": "Paris",
        "city_size": "2",
    },
    {"who": "bob of Łódź", "city": "l", "city_title": "Łódź"},
]


def pipeline(*stages: dict[str, Any]) -> dict[str, Any]:
    """Stages one behind the other."""
    named = [{"name": f"s{i}", "plugin": plugin} for i, plugin in enumerate(stages)]
    links = [{"from": f"s{i}", "to": f"s{i + 1}"} for i in range(len(stages) - 1)]
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    return {"name": "p", "artifact": artifact, "config": {"stages": named, "connections": links}}


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory, cdap_engine_directory):
    """With the tables ``jobs``, of keys and values, and ``cities``."""
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("lookups")) as made:
        jobs = stage("batchsink", "KVTable", name="jobs")
        cities = stage("batchsink", "Table", name="cities", **{"schema.row.field": "id"})
        pairs, towns = (
            record(key="string", value="string"),
            record(id="string", title="string", size=["int", "null"]),
        )
        for rows, schema, sink in (
            ("ada,engineer\n", pairs, jobs),
            ("p,Paris,2\nl,Łódź,\n", towns, cities),
        ):
            assert made.run(pipeline(csv(made, rows, schema), sink)).error is None
        yield made


def without_nulls(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{n: v for n, v in record.items() if v is not None} for record in records]


def write_input(instance: TemporaryInstance) -> dict[str, Any]:
    return csv(instance, "ada,p\nbob,l\neve,x\n", ASKED)


def test_a_run_looks_up_by_all_means(instance):
    stages = [write_input(instance), PYTHON, JAVASCRIPT, WRANGLER, json_sink("found")]
    run = instance.run(pipeline(*stages))

    assert run.error is None
    assert without_nulls(json_lines(instance.home.path / "found")) == FOUND
    assert (run.stages["s2"].errors, run.stages["s3"].records_out) == (1, 2)


def test_a_preview_looks_up_too(instance):
    document = pipeline(write_input(instance), PYTHON, JAVASCRIPT, WRANGLER, json_sink("none"))
    previews = instance.cdap.previews
    preview = previews.start(PreviewRequest(document))
    while not preview.status.is_end:
        preview = previews.wait("default", preview.preview, preview.version, 5.0)

    assert without_nulls(preview.stages["s3"].records) == FOUND


def test_a_stage_is_tried_with_the_tables_of_the_instance(instance):
    asked = [{"who": "ada", "city": "p", "job": None}, {"who": "eve", "city": "x", "job": None}]
    debug = instance.cdap.debugging.debug

    tried = {"name": "t", "plugin": JAVASCRIPT}
    answer = debug(DebugRequest(tried, [GivenRecords("in", asked, str(ANSWERED))]))
    assert (answer.errors, [each.code for each in answer.error_records]) == ([], [4])
    assert answer.output.records == [{**asked[0], "who": "ada of Paris"}]

    gone = {**JAVASCRIPT, "properties": JAVASCRIPT["properties"] | {"lookup": '{"gone": {}}'}}
    answer = debug(
        DebugRequest({"name": "t", "plugin": gone}, [GivenRecords("in", asked, str(ANSWERED))])
    )
    assert "There is no table 'gone' in namespace 'default'" in answer.errors[0].message


def test_tables_that_are_missing_are_found_before_the_run(instance):
    recipe = stage("transform", "Wrangler", directives="rename who a\ntable-lookup :city 'gone'")
    script = {**PYTHON, "properties": PYTHON["properties"] | {"lookup": '{"tables": {"gone": {}}}'}}
    document = pipeline(write_input(instance), script, recipe, json_sink("x"))

    validate = instance.cdap.studio.validate_pipeline
    resolved = validate(PipelineRequest(document))
    assert [e.message for e in resolved.errors if "gone" in e.message] == []
    resolved = validate(PipelineRequest(document, connected=True))
    reported = {(e.stage, e.field): e.message for e in resolved.errors}
    assert reported[("s1", "lookup")] == "There is no table 'gone' to look values up in."
    assert (
        "line 2, column 1: table-lookup: there is no table 'gone'" in reported[("s2", "directives")]
    )
