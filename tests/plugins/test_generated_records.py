"""Generated records suit the plugins that read them: nothing of them is an error record, or null."""

from __future__ import annotations

import json

import pytest
from core_plugins.log_parser import LogParser
from transform_plugins.json import JSONParser
from transform_plugins.xml import XMLMultiParser, XMLParser, XMLToJSON

from localcdap.api import Schema
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.recordings.generation.records import GenerationHints, RecordGenerator
from tests.plugins.transform.support import run

BODY = Schema.record("r", [("id", Schema.INT), ("body", Schema.STRING.as_nullable)])
PARSED = str(
    Schema.record(
        "r", [("title", Schema.STRING), ("price", Schema.DOUBLE), ("isbn", Schema.STRING)]
    )
)
PATHS = (
    "title:/book/title,price:/book/offer/price,isbn:/book/@isbn,first:/book/author[1]/name/text()"
)


def generate(schema, plugin, type, properties, count=50):
    stage = {"name": "Next", "plugin": {"name": plugin, "type": type, "properties": properties}}
    document = read_document({"stages": [stage], "connections": [{"from": "Orders", "to": "Next"}]})
    generator = RecordGenerator(
        schema, "Orders", count=count, seed=0, hints=GenerationHints(document)
    )
    return [each for batch in generator.generate() for each in batch]


@pytest.mark.parametrize(
    ("plugin", "properties"),
    [
        *(
            (LogParser, {"logFormat": form, "inputName": "body"})
            for form in ("CLF", "S3", "Cloudfront")
        ),
        (
            XMLParser,
            {
                "input": "body",
                "xPathMappings": PATHS,
                "fieldTypeMapping": "title:string,price:double,isbn:string,first:string",
            },
        ),
        (XMLParser, {"input": "body", "xPathMappings": "a:/a", "fieldTypeMapping": "a:int"}),
        (XMLMultiParser, {"field": "body", "xPath": "/rss/channel/item", "schema": PARSED}),
        (XMLMultiParser, {"field": "body", "xPath": "/item", "schema": PARSED}),
        (XMLMultiParser, {"field": "body", "xPath": "//item", "schema": PARSED}),
        (XMLToJSON, {"inputField": "body", "outputField": "json_str"}),
        (JSONParser, {"field": "body", "schema": PARSED}),
        (
            JSONParser,
            {
                "field": "body",
                "schema": PARSED,
                "mapping": "title:$.book.title,price:$.book.offer.price,isbn:$.isbn",
            },
        ),
    ],
)
def test_every_generated_text_can_be_taken_apart(plugin, properties):
    records = generate(BODY, plugin.__name__, "transform", properties)
    output = run(plugin, properties, BODY, records)
    assert not output.errors
    assert len(output.records) >= len(records)
    assert all(value is not None for record in output.records for value in record.values())
    if plugin is XMLToJSON:
        (document,) = {type(json.loads(each["json_str"])["record"]) for each in output.records}
        assert document is dict


@pytest.mark.parametrize("kind", [Schema.INT, Schema.STRING, Schema.STRING.as_nullable])
def test_a_generated_hierarchy_is_a_tree(kind):
    schema = Schema.record("r", [("parent_id", kind), ("child", kind), ("name", Schema.STRING)])
    properties = {"parentField": "Parent_Id", "childField": "child"}
    records = generate(schema, "HierarchyToRelational", "sparkcompute", properties, count=200)
    parents = {each["child"]: each["parent_id"] for each in records}
    assert len(parents) == 200
    roots = [child for child, parent in parents.items() if parent in (None, child)]
    assert len(roots) == 1
    for child in parents:
        seen = set()
        while child not in roots:
            assert child not in seen
            seen.add(child)
            child = parents[child]
        assert len(seen) < 20
