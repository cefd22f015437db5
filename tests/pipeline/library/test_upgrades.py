"""Documents of older forms."""

from __future__ import annotations

import json

from localcdap.pipeline.comparison import compare_pipelines
from localcdap.pipeline.document.reader import read_document, upgrade_document, upgrades
from tests.pipeline.pipelines import config, record

OLD = {
    "source": {"name": "In", "plugin": {"name": "Source", "properties": {}}},
    "transforms": [{"name": "Middle", "plugin": {"name": "Pass"}}],
    "sinks": [{"name": "Out", "plugin": {"name": "Sink"}}],
    "mine": {"kept": [1]},
}


def test_the_parts_of_cdap_3_become_stages():
    document = read_document({"template": "cdap-etl-batch", "config": OLD, "ui": {"nodes": {}}})
    new = upgrade_document(document)

    assert upgrades(document) == [
        (
            "The parts of CDAP 3, 'source' and 'sinks' and 'transforms', are read as 3 stages and their "
            "connections."
        ),
        "The application 'cdap-etl-batch' is 'cdap-data-pipeline' now.",
    ]
    assert [stage["name"] for stage in new["config"]["stages"]] == ["In", "Middle", "Out"]
    assert new["config"]["connections"] == [
        {"from": "In", "to": "Middle"},
        {"from": "Middle", "to": "Out"},
    ]
    assert not {"source", "sinks", "transforms"} & new["config"].keys()
    assert (new["config"]["mine"], new["ui"]) == ({"kept": [1]}, {"nodes": {}})
    again = read_document(json.loads(json.dumps(new)))
    assert upgrades(again) == []
    assert compare_pipelines(document, again).is_equal


def test_what_is_wrapped_or_text_is_reported():
    small = config("source:s sink:z", "s>z", s={"schema": record("a")})
    detail = {
        "name": "x",
        "configuration": json.dumps(small),
        "artifact": {"name": "cdap-data-pipeline"},
    }
    draft = {"name": "d", "config": {"name": "x", "config": small}}

    assert ["'configuration'" in text for text in upgrades(read_document(detail))] == [True]
    assert ["envelope: config.config" in text for text in upgrades(read_document(draft))] == [True]
    assert upgrade_document(read_document(detail))["config"] == small


def test_an_export_of_cdap_6_is_as_it_should_be():
    small = config("source:s sink:z", "s>z", s={"schema": record("a")})
    artifact = {"name": "cdap-data-pipeline", "version": "6.2.0", "scope": "SYSTEM"}
    given = {"name": "x", "description": "", "artifact": artifact, "config": small}

    assert upgrades(read_document(given)) == []
    assert upgrades(read_document(small)) == []
    assert upgrade_document(read_document({**given, "__ui__": {}})) == {**given, "__ui__": {}}


def test_every_real_pipeline_is_the_same_when_upgraded(corpus):
    for file in sorted((corpus / "pipelines").glob("*.json")):
        document = read_document(file.read_text(), file.name)
        again = read_document(json.loads(json.dumps(upgrade_document(document))), file.name)
        assert compare_pipelines(document, again).is_equal, file.name
        assert again.type is document.type, file.name
