"""Reading documents: every form, lenient values, and what is not a pipeline."""

from __future__ import annotations

import contextlib
import copy
import json
import string

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import DocumentError
from localcdap.api.failures import ArtifactId
from localcdap.api.pipeline import Resources, StageConnection
from localcdap.api.serialization.value_types import encode_schema
from localcdap.artifacts.model import ArtifactSelector
from localcdap.pipeline.document.model import PipelineType
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.validation.plugins import IndexedPlugins, Repair, apply_repairs
from localcdap.pipeline.validation.resolution import resolve_pipeline
from localcdap.sandbox.stage_configuration import configure_stage
from tests.pipeline.pipelines import check, config
from tests.pipeline.shelf import mock_shelf

SMALL = config("source:a sink:z", "a>z")
WRAPPED = {
    "name": "small",
    "description": "d",
    "artifact": {"name": "cdap-data-pipeline", "version": "6.1.1", "scope": "SYSTEM"},
    "config": SMALL,
}


def names(document):
    return [stage.name for stage in read_document(document).stages]


# -- forms ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [
        SMALL,
        WRAPPED,
        {"config": SMALL},
        {**WRAPPED, "$promise": {}, "$resolved": True, "__ui__": {}},
        {"id": "draft", "config": WRAPPED},
        {"name": "app", "artifact": WRAPPED["artifact"], "configuration": json.dumps(SMALL)},
        {"name": "app", "config": json.dumps(WRAPPED)},
    ],
    ids=["bare", "wrapped", "config", "$promise", "draft", "application detail", "text"],
)
def test_all_forms_hold_the_same_pipeline(document):
    before = copy.deepcopy(document)
    for given_as in (document, json.dumps(document), json.dumps(document).encode()):
        read = read_document(given_as)
        assert [stage.name for stage in read.stages] == ["a", "z"]
        assert read.connections == [StageConnection("a", "z")]
        assert read.type is PipelineType.BATCH
        assert read.source == before
        assert check(read) == []


def test_labels_come_from_the_wrapper():
    read = read_document(WRAPPED)
    assert (read.name, read.description, read.artifact_name) == ("small", "d", "cdap-data-pipeline")
    assert read_document(SMALL).artifact_name is None


def test_a_byte_order_mark_is_no_problem():
    assert names("\ufeff" + json.dumps(SMALL)) == ["a", "z"]
    assert names(b"\xef\xbb\xbf" + json.dumps(SMALL).encode()) == ["a", "z"]


def test_the_text_and_unknown_keys_are_kept_in_order():
    text = '{"zzz": 1, "stages": [], "aaa": {"b": 2, "a": 1.50}, "connections": []}'
    read = read_document(text)
    assert read.text == text
    assert list(read.source) == ["zzz", "stages", "aaa", "connections"]
    assert list(read.source["aaa"]) == ["b", "a"]


# -- no pipeline -----------------------------------------------------------------------------


def test_malformed_json_is_reported_with_its_place():
    with pytest.raises(DocumentError) as raised:
        read_document('{"stages": [\n  {"name": }\n]}', "p.json")
    error = raised.value
    assert (error.file, error.line, error.column) == ("p.json", 2, 12)
    assert error.message == (
        "File 'p.json' is not valid JSON: Expecting value (line 2, column 12)."
    )


def test_malformed_json_inside_an_application_detail():
    with pytest.raises(DocumentError, match="'configuration' in File 'app.json' is not valid JSON"):
        read_document({"configuration": "{"}, "app.json")


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ("[1]", "it holds a list"),
        ("3", "it holds a number"),
        ('"text"', "it holds a text"),
        ("null", "it holds null"),
        ("true", "it holds a boolean"),
        ("{}", "it holds an empty object"),
        ('{"name": "x", "version": 1}', "it holds an object with name, version"),
        ('{"config": 5}', "it holds a number under 'config'"),
        ('{"configuration": "[]"}', "it holds a list under 'configuration'"),
    ],
)
def test_what_is_no_pipeline_is_reported(document, found):
    with pytest.raises(DocumentError, match="is not a pipeline") as raised:
        read_document(document)
    assert found in raised.value.message
    assert "'stages'" in raised.value.corrective_action


def test_text_that_is_not_utf8():
    with pytest.raises(DocumentError, match=r"not UTF-8 text \(line 2\)"):
        read_document(b'{\n"\xff": 1}')


def test_deep_nesting_and_half_characters_are_refused_by_name():
    with pytest.raises(DocumentError, match="nested too deeply"):
        read_document('{"stages":' * 100_000)
    with pytest.raises(DocumentError, match="surrogate"):
        read_document('{"stages": ["\\ud800"]}')


# -- lenient values --------------------------------------------------------------------------


def test_property_values_become_text():
    properties = {
        "int": 10,
        "float": 1.5,
        "bool": True,
        "null": None,
        "list": ["a", 1, False],
        "deep": [{"a": 1}],
        "schema": {"type": "record", "name": "r", "fields": []},
        "unionSchema": ["int", "null"],
        "text": " as is ",
        "empty": [],
    }
    document = config("source:a sink:z", "a>z", a=properties)
    assert read_document(document).stages[0].plugin.properties == {
        "int": "10",
        "float": "1.5",
        "bool": "true",
        "list": "a,1,false",
        "deep": '[{"a":1}]',
        "schema": '{"type":"record","name":"r","fields":[]}',
        "unionSchema": '["int","null"]',
        "text": " as is ",
        "empty": "[]",
    }


def test_settings_are_read_leniently():
    read = read_document(
        SMALL
        | {
            "engine": "spark",
            "resources": {"memoryMB": "2048", "virtualCores": 2.0},
            "driverResources": None,
            "stageLoggingEnabled": "false",
            "processTimingEnabled": None,
            "numOfRecordsPreview": "7",
            "maxConcurrentRuns": 1,
            "properties": {"system.spark.spark.x": 1, "system.mapreduce.y": "2", "other": "3"},
            "schedule": "0 * * * *",
        }
    )
    assert read.engine == "SPARK"
    assert read.resources == Resources(2048, 2)
    assert read.driver_resources == Resources()
    assert (read.stage_logging_enabled, read.process_timing_enabled) == (False, True)
    assert (read.num_of_records_preview, read.max_concurrent_runs) == (7, 1)
    assert read.engine_properties == {"spark.x": "1"}
    assert read.schedule == "0 * * * *"


def test_defaults():
    read = read_document({"stages": []})
    assert read.engine == "MAPREDUCE"
    assert read.resources == Resources(1024, 1)
    assert read.max_concurrent_runs is None


def test_artifacts_are_read_leniently():
    document = copy.deepcopy(SMALL)
    document["stages"][0]["plugin"]["artifact"] = {"name": "core", "version": 2, "scope": "system"}
    document["stages"][1]["plugin"]["artifact"] = {"name": None}
    first, second = read_document(document).stages
    assert first.plugin.artifact == ArtifactSelector("SYSTEM", "core", "2")
    assert second.plugin.artifact is None


def test_connections_collapse_and_conditions_may_be_booleans():
    document = SMALL | {
        "connections": [
            {"from": "a", "to": "z"},
            {"to": "z", "from": "a", "port": None},
            {"from": "a", "to": "z", "condition": True},
            {"from": "a", "to": "z", "condition": "FALSE"},
            {"from": "a", "to": "z", "port": 1},
        ]
    }
    assert read_document(document).connections == [
        StageConnection("a", "z"),
        StageConnection("a", "z", None, True),
        StageConnection("a", "z", None, False),
        StageConnection("a", "z", "1"),
    ]


# -- problems inside -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "message", "name"),
    [
        (5, "Invalid stage 'stages[2]': it must be an object, not a number.", None),
        (
            {"plugin": {"name": "x", "type": "t"}},
            "Invalid stage 'stages[2]': name must be specified.",
            None,
        ),
        ({"name": "s"}, "Invalid stage 's': plugin must be specified.", "s"),
        (
            {"name": "s", "plugin": {"type": "transform"}},
            "Invalid plugin Plugin{name='', type='transform'}: name must be specified.",
            "s",
        ),
        (
            {"name": "s", "plugin": {"name": "Pass"}},
            "Invalid plugin Plugin{name='Pass', type=''}: type must be specified.",
            "s",
        ),
        (
            {"name": "s", "plugin": {"name": "Pass", "type": "transform", "properties": 3}},
            (
                "Invalid plugin Plugin{name='Pass', type='transform'}: properties must be an object, "
                "not a number."
            ),
            "s",
        ),
    ],
)
def test_structural_problems_are_failures(stage, message, name):
    document = copy.deepcopy(SMALL)
    document["stages"].append(stage)
    (problem,) = read_document(document).problems
    assert (problem.message, problem.stage, problem.type) == (message, name, "Invalid Pipeline")


def test_problems_of_connections_and_lists():
    document = {"stages": "none", "connections": [3, {"from": "a"}, {"to": "b"}]}
    assert [problem.message for problem in read_document(document).problems] == [
        "'stages' must be a list, not a text.",
        "Invalid connection 'connections[0]': it must be an object.",
        'Invalid connection {"from":"a"}: \'to\' must be specified.',
        'Invalid connection {"to":"b"}: \'from\' must be specified.',
    ]


# -- CDAP 3 ----------------------------------------------------------------------------------


def test_a_3_2_configuration_gets_numbered_names_and_a_chain():
    read = read_document(
        {
            "artifact": {"name": "cdap-etl-batch", "version": "3.2.0"},
            "config": {
                "source": {"name": "Stream", "properties": {"n": 1}},
                "transforms": [{"name": "Projection", "properties": {}}],
                "sinks": [{"name": "Table", "properties": {}}, {"name": "Table", "properties": {}}],
                "actions": [{"name": "Email", "properties": {}}],
            },
        }
    )
    assert [(s.name, s.plugin.type, s.plugin.name) for s in read.stages] == [
        ("Stream.1", "batchsource", "Stream"),
        ("Projection.2", "transform", "Projection"),
        ("Table.3", "batchsink", "Table"),
        ("Table.4", "batchsink", "Table"),
    ]
    assert list(map(str, read.connections)) == [
        "Stream.1 -> Projection.2",
        "Projection.2 -> Table.3",
        "Projection.2 -> Table.4",
    ]
    assert [(a.name, a.plugin.type) for a in read.post_actions] == [("Email.1", "postaction")]
    assert check(read) == []


def test_a_3_4_configuration_keeps_its_names_and_connections():
    def stage(name):
        return {"name": name, "plugin": {"name": "X", "properties": {}}}

    read = read_document(
        {
            "source": stage("a"),
            "sinks": [stage("z")],
            "transforms": [stage("t"), stage("u")],
            "connections": [
                {"from": "a", "to": "t"},
                {"from": "t", "to": "u"},
                {"from": "u", "to": "z"},
            ],
        }
    )
    assert [stage.name for stage in read.stages] == ["a", "t", "u", "z"]
    assert list(map(str, read.connections)) == ["a -> t", "t -> u", "u -> z"]
    assert check(read) == []


@pytest.mark.parametrize("marks", [{"template": "ETLRealtime"}, {"instances": 1}])
def test_realtime_configurations_are_streaming(marks):
    old = {"source": {"name": "Kafka"}, "sink": {"name": "Table"}}
    document = {"config": old} | marks if "template" in marks else {"config": old | marks}
    read = read_document(document)
    assert read.type is PipelineType.STREAMING
    assert [stage.plugin.type for stage in read.stages] == ["realtimesource", "realtimesink"]
    assert len(check(read)) == 1


@pytest.mark.parametrize(
    ("config", "type"),
    [
        ({"source": {"name": "Twitter"}, "sink": {"name": "Table"}}, PipelineType.STREAMING),
        ({"source": {"name": "Kafka"}, "sinks": [{"name": "Stream"}]}, PipelineType.STREAMING),
        (
            {"source": {"name": "a", "plugin": {"name": "JMS"}}, "sink": {"name": "Table"}},
            PipelineType.STREAMING,
        ),
        (
            {"source": {"name": "Stream"}, "sink": {"name": "Table"}, "schedule": "* * * * *"},
            PipelineType.BATCH,
        ),
        ({"source": {"name": "Kafka"}, "sink": {"name": "Table"}}, PipelineType.BATCH),
    ],
)
def test_the_plugins_of_a_3_x_configuration_tell_its_type(config, type):
    assert read_document(config).type is type


def test_a_3_x_configuration_without_ends():
    document = {"config": {"source": None, "sinks": [], "transforms": [{"name": "T"}]}}
    found = [f.message for f in check(read_document(document))]
    assert found[:2] == [
        "Pipeline does not contain a source.",
        "Pipeline does not contain any sinks.",
    ]


def test_streaming_is_recognised_without_a_wrapper():
    assert read_document({"stages": [], "batchInterval": "10s"}).type is PipelineType.STREAMING
    assert read_document(config("streamingsource:a sink:z", "a>z")).type is PipelineType.STREAMING


# -- repairs ---------------------------------------------------------------------------------


def repair(stage: str) -> Repair:
    return Repair(stage, "t", "n", ArtifactSelector(), ArtifactId("core", "2.0.0", "SYSTEM"))


def test_repairs_change_nothing_but_the_artifact():
    document = {"name": "app", "configuration": json.dumps(SMALL), "x": [1]}
    read = read_document(document)
    fixed = apply_repairs(read, [repair("z")])
    assert {**fixed, "configuration": None} == {**document, "configuration": None}
    inner = json.loads(fixed["configuration"])
    artifact = inner["stages"][1]["plugin"].pop("artifact")
    assert artifact == {"name": "core", "version": "2.0.0", "scope": "SYSTEM"}
    assert inner == SMALL
    assert read.source == document


def test_repairs_find_the_stages_of_a_3_x_configuration():
    old = {"source": {"name": "a", "plugin": {"name": "X"}}, "sinks": [{"name": "T"}]}
    fixed = apply_repairs(read_document({"config": old}), [repair("a"), repair("T.2")])
    assert fixed["config"]["source"]["plugin"]["artifact"]["version"] == "2.0.0"
    assert fixed["config"]["sinks"][0]["artifact"]["name"] == "core"


# -- any JSON --------------------------------------------------------------------------------

WORDS = """name type plugin properties artifact scope version stages connections config
configuration source sinks sink transforms actions postActions from to port condition engine resources
template instances schema x"""
KEYS = st.sampled_from(WORDS.split())
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(string.printable, max_size=8)
)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=40,
)
PIPELINE_LIKE = st.fixed_dictionaries(
    {"stages": ANY_JSON, "connections": ANY_JSON}, optional={"config": ANY_JSON}
)


SHELF = IndexedPlugins(mock_shelf(), "default")


@given(ANY_JSON | PIPELINE_LIKE)
def test_any_json_is_read_or_refused(value):
    before = copy.deepcopy(value)
    for document in (value, json.dumps(value)):
        try:
            read = read_document(document)
        except DocumentError:
            continue
        answer = resolve_pipeline(read, SHELF, configure_stage)
        msgspec.json.encode(answer, enc_hook=encode_schema)
        assert json.dumps(read.source) == json.dumps(before)


@given(st.text(max_size=40) | st.binary(max_size=40))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(DocumentError):
        read_document(text)
