"""Stages that are replaced again after a change of the pipeline."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from localcdap.api import Schema
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.recordings.model import RecordingRules, list_given_rules
from localcdap.pipeline.recordings.sources import RecordingInputs
from localcdap.pipeline.recordings.stand_ins import StageReplacer

ARTIFACT = {"name": "core-plugins", "version": "2.12.0", "scope": "SYSTEM"}


def source(name, field):
    columns = [{"name": field, "type": "string"}]
    schema = json.dumps({"type": "record", "name": "row", "fields": columns})
    plugin = {"name": "File", "type": "batchsource", "artifact": ARTIFACT}
    return {"name": name, "plugin": plugin | {"properties": {"path": "/x", "schema": schema}}}


def joined(condition):
    joiner = {"name": "Joiner", "type": "batchjoiner", "properties": {"joinKeys": condition}}
    stages = [source("Left", "matnr"), source("Right", "material"), {"name": "j", "plugin": joiner}]
    connections = [{"from": each, "to": "j"} for each in ("Left", "Right")]
    config = {"stages": stages, "connections": connections}
    return read_document(json.dumps({"name": "p", "artifact": ARTIFACT, "config": config}))


def read(replaced, stage):
    return set(pq.read_table(replaced.plugins[stage].properties["path"]).column(0).to_pylist())


def test_records_are_generated_again_when_a_joiner_compares_other_fields(tmp_path):
    rules = RecordingRules(list_given_rules({"Left": "generate", "Right": "generate"}))
    inputs = RecordingInputs(
        None, dict, lambda name, most: None, lambda stage: None, lambda text: ""
    )
    replacer = StageReplacer(rules, inputs, "p", tmp_path)

    apart = replacer.replace(joined("Left.other = Right.material"))
    assert not read(apart, "Left") & read(apart, "Right")
    again = replacer.replace(joined("Left.matnr = Right.material"))
    assert read(again, "Left") & read(again, "Right")
    assert replacer.replace(joined("Left.matnr = Right.material")).plugins == again.plugins


def recorded(tmp_path, stage, *, find_schema=lambda stage: None, expand=lambda text: ""):
    rules = RecordingRules(list_given_rules({stage["name"]: "generate:3"}))
    inputs = RecordingInputs(None, dict, lambda name, most: None, find_schema, expand)
    document = {"name": "p", "artifact": ARTIFACT, "config": {"stages": [stage], "connections": []}}
    replaced = StageReplacer(rules, inputs, "p", tmp_path).replace(
        read_document(json.dumps(document))
    )
    return replaced.plugins[stage["name"]].properties


def test_the_schema_that_the_plugin_sets_comes_before_the_one_of_the_document(tmp_path):
    stage = source("Left", "stale")
    fresh = Schema.record("fresh", [("matnr", Schema.STRING)])

    assert recorded(tmp_path, stage, find_schema=lambda _: fresh)["schema"] == str(fresh)
    assert "stale" in recorded(tmp_path, stage)["schema"]


@pytest.mark.parametrize(
    ("value", "name"), [("sap_prod", "recorded.sap_prod"), ("", "recorded.Left")]
)
def test_macros_of_a_reference_name_are_evaluated(tmp_path, value, name):
    stage = source("Left", "matnr")
    stage["plugin"]["properties"]["referenceName"] = "sap_${env}"

    assert recorded(tmp_path, stage, expand=lambda _: value)["referenceName"] == name


def test_macros_of_schemas_and_of_hints_are_evaluated(tmp_path):
    document = joined("${keys}")
    for stage in document.stages[:2]:
        stage.plugin.properties["schema"] = "${" + stage.name + "}"
    values = {"${keys}": "Left.matnr = Right.material"}
    for name, field in (("Left", "matnr"), ("Right", "material")):
        values[f"${{{name}}}"] = str(Schema.record("row", [(field, Schema.STRING)]))
    rules = RecordingRules(list_given_rules({"Left": "generate", "Right": "generate"}))
    inputs = RecordingInputs(
        None, dict, lambda name, most: None, lambda stage: None, lambda text: values[text]
    )

    made = StageReplacer(rules, inputs, "p", tmp_path).replace(document)

    assert (made.failures, sorted(made.plugins)) == ([], ["Left", "Right"])
    assert read(made, "Left") & read(made, "Right")
