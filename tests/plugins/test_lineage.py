"""What the shipped transforms, aggregators and joiners record of their fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from core_plugins.aggregators.deduplicate import Deduplicate, Distinct
from core_plugins.aggregators.group_by_aggregate import GroupByAggregate
from core_plugins.aggregators.row_denormalizer import RowDenormalizer
from core_plugins.error_collector import ErrorCollector
from core_plugins.joins.joiner import Joiner
from core_plugins.log_parser import LogParser
from core_plugins.projection import Projection
from core_plugins.scripts.javascript import JavaScript
from core_plugins.scripts.legacy_javascript import ScriptFilter
from core_plugins.tables.tables import KeyValueSink
from date_transform.date_transform import DateTransform
from hierarchy_to_relational.hierarchy import HierarchyToRelational
from switch_plugins.routing_switch import RoutingSwitch
from topn_plugins.top_n import TopN
from transform_plugins.clone_record import CloneRecord
from transform_plugins.codecs import Compressor, Decoder, Decompressor, Encoder, Hasher
from transform_plugins.csv.formatter import CSVFormatter
from transform_plugins.csv.parser import CSVParser
from transform_plugins.json import JSONFormatter, JSONParser
from transform_plugins.normalize import Normalize
from transform_plugins.splitters import NullFieldSplitter
from transform_plugins.value_mapper import ValueMapper
from transform_plugins.xml import XMLMultiParser, XMLParser, XMLToJSON
from window_aggregator.window_aggregation import WindowAggregation

from localcdap.api import Plugin, Schema
from localcdap.api.lineage import EdgeKind, StageLineage
from localcdap.testing import StageTester


def make_schema(**fields: str) -> Schema:
    return Schema.record("r", [(name, Schema.parse(json.dumps(t))) for name, t in fields.items()])


def shorten(lineage: StageLineage) -> dict[str, str]:
    """The edges by output field; ``*`` stands for the records, a kind other than TRANSFORMATION is named."""
    found: dict[str, list[str]] = {}
    for edge in lineage.edges:
        place = edge.dataset or edge.stage
        source = edge.source if place is None else f"{place}.{edge.source}"
        kind = "" if edge.kind is EdgeKind.TRANSFORMATION else f" {edge.kind.value}"
        marks = f"{' masked' if edge.masking else ''}{' assumed' if edge.assumed else ''}"
        found.setdefault(edge.field or "*", []).append(f"{source}{kind}{marks}")
    return {field: ", ".join(sources) for field, sources in found.items()}


PEOPLE = make_schema(id="int", name="string", city="string", age="int")
BODY = make_schema(body="string", id="int")
CASES: list[tuple[type[Plugin], dict[str, str], Any, dict[str, str]]] = [
    (
        Projection,
        {"drop": "age", "rename": "name:customer", "convert": "id:long"},
        PEOPLE,
        {"id": "id", "customer": "name IDENTITY", "city": "city IDENTITY"},
    ),
    (
        GroupByAggregate,
        {
            "groupByFields": "city",
            "aggregates": "n:count(*),oldest:max(age),young:sumIf(age):condition(name.equals('a'))",
        },
        PEOPLE,
        {
            "*": "city GROUP_BY",
            "oldest": "age AGGREGATION",
            "young": "age AGGREGATION, name CONDITIONAL",
            "city": "city IDENTITY",
        },
    ),
    (
        Deduplicate,
        {"uniqueFields": "name", "filterOperation": "age:max"},
        PEOPLE,
        {"*": "name GROUP_BY, age SORT"} | {n: f"{n} IDENTITY" for n in PEOPLE.field_names},
    ),
    (
        Distinct,
        {"fields": "name,city"},
        PEOPLE,
        {"*": "name GROUP_BY, city GROUP_BY", "name": "name IDENTITY", "city": "city IDENTITY"},
    ),
    (
        RowDenormalizer,
        {"keyField": "name", "nameField": "city", "valueField": "kind", "outputFields": "a,b"},
        make_schema(name="string", city="string", kind="string", more="string"),
        {
            "*": "name GROUP_BY",
            "a": "kind AGGREGATION, city CONDITIONAL",
            "b": "kind AGGREGATION, city CONDITIONAL",
            "name": "name IDENTITY",
        },
    ),
    (
        Joiner,
        {
            "selectedFields": "people.id as person, people.name as name, orders.total as total, "
            "orders.id as id",
            "requiredInputs": "people",
            "joinKeys": "people.id = orders.owner",
        },
        {"people": PEOPLE, "orders": make_schema(id="int", owner="int", total="double")},
        {
            "*": "people.id JOIN, orders.owner JOIN",
            "person": "people.id IDENTITY",
            "name": "people.name IDENTITY",
            "total": "orders.total IDENTITY",
            "id": "orders.id IDENTITY",
        },
    ),
    (
        Joiner,
        {
            "selectedFields": "people.name as name, orders.total as total",
            "requiredInputs": "people,orders",
            "conditionType": "advanced",
            "inputAliases": "orders=o",
            "conditionExpression": "people.id = o.owner and o.total > 3",
        },
        {"people": PEOPLE, "orders": make_schema(id="int", owner="int", total="double")},
        {
            "*": "people.id JOIN, orders.owner JOIN, orders.total JOIN",
            "name": "people.name IDENTITY",
            "total": "orders.total IDENTITY",
        },
    ),
    (
        LogParser,
        {"logFormat": "CLF", "inputName": "body"},
        BODY,
        dict.fromkeys(("uri", "ip", "browser", "device", "httpStatus", "ts"), "body")
        | {"*": "body FILTER"},
    ),
    (
        ErrorCollector,
        {"messageField": "why"},
        BODY,
        {
            "body": "body IDENTITY",
            "id": "id IDENTITY",
            "why": "body assumed, id assumed",
        },
    ),
    (
        JavaScript,
        {"script": "function transform(i, e, c) { e.emit(i); }"},
        BODY,
        {
            "body": "in.body assumed, in.id assumed".replace("in.", "input."),
            "id": "input.body assumed, input.id assumed",
            "*": "input.body FILTER assumed, input.id FILTER assumed",
        },
    ),
    (CloneRecord, {"copies": "2"}, BODY, {"body": "body IDENTITY", "id": "id IDENTITY"}),
    (
        Encoder,
        {"encode": "body:BASE64,id:NONE", "schema": str(BODY)},
        BODY,
        {"body": "body", "*": "body FILTER", "id": "id IDENTITY"},
    ),
    (
        Hasher,
        {"hash": "MD5", "fields": "body"},
        BODY,
        {"body": "body masked", "id": "id IDENTITY"},
    ),
    (
        CSVFormatter,
        {"format": "EXCEL", "schema": str(make_schema(line="string"))},
        BODY,
        {"line": "body, id"},
    ),
    (
        CSVParser,
        {"field": "body", "schema": str(make_schema(id="int", a="string", body="string"))},
        BODY,
        {"a": "body", "body": "body", "*": "body FILTER", "id": "id IDENTITY"},
    ),
    (
        JSONParser,
        {"field": "body", "mapping": "a:$.a", "schema": str(make_schema(a="string", id="int"))},
        BODY,
        {"a": "body", "*": "body FILTER", "id": "id IDENTITY"},
    ),
    (
        Normalize,
        {
            "fieldMapping": "id:ID",
            "fieldNormalizing": "name:type:value,city:type:value",
            "outputSchema": str(make_schema(ID="string", type="string", value="string")),
        },
        PEOPLE,
        {
            "ID": "id",
            "*": "name FILTER, city FILTER",
            "value": "name, city",
            "type": "name CONDITIONAL, city CONDITIONAL",
        },
    ),
    (
        NullFieldSplitter,
        {"field": "body", "modifySchema": "false"},
        BODY,
        {"*": "body FILTER", "body": "body IDENTITY", "id": "id IDENTITY"},
    ),
    (
        RoutingSwitch,
        {"routingField": "id", "portSpecification": "one:number_equals(1)"},
        BODY,
        {"*": "id FILTER", "body": "body IDENTITY", "id": "id IDENTITY"},
    ),
    (
        TopN,
        {"field": "id", "size": "5"},
        BODY,
        {"*": "id SORT, id FILTER", "body": "body IDENTITY", "id": "id IDENTITY"},
    ),
    (
        HierarchyToRelational,
        {"parentField": "id", "childField": "age", "startWith": "id >= 0"},
        make_schema(id="int", age="int"),
        {
            "*": "id JOIN, age JOIN, id FILTER, age FILTER",
            **dict.fromkeys(("id", "age", "Level", "Bottom"), "id, age"),
        },
    ),
    (
        WindowAggregation,
        {
            "partitionFields": "id",
            "partitionOrder": "body:Ascending",
            "aggregates": "n:first(body,,true)",
        },
        BODY,
        {
            "n": "body, id WINDOW, body SORT",
            "body": "body IDENTITY",
            "id": "id IDENTITY",
        },
    ),
    (
        DateTransform,
        {
            "sourceFields": "id",
            "targetFields": "date",
            "targetFormat": "yyyy",
            "schema": json.dumps(make_schema(date="string", body="string").to_json()),
        },
        make_schema(body="string", id="long"),
        {"date": "id", "body": "body IDENTITY"},
    ),
    (
        ValueMapper,
        {"mapping": "name:names:full"},
        PEOPLE,
        {
            "full": "name, names.value, names.key JOIN",
            "id": "id IDENTITY",
            "city": "city IDENTITY",
            "age": "age IDENTITY",
        },
    ),
    (
        Compressor,
        {
            "compressor": "name:GZIP",
            "schema": str(make_schema(id="int", name="bytes", city="string")),
        },
        PEOPLE,
        {"name": "name", "*": "name FILTER", "id": "id IDENTITY", "city": "city IDENTITY"},
    ),
    (
        Decompressor,
        {"decompressor": "name:GZIP", "schema": str(make_schema(id="int", name="string"))},
        make_schema(id="int", name="bytes"),
        {"name": "name", "*": "name FILTER", "id": "id IDENTITY"},
    ),
    (
        Decoder,
        {"decode": "name:BASE64", "schema": str(make_schema(id="int", name="bytes"))},
        PEOPLE,
        {"name": "name", "*": "name FILTER", "id": "id IDENTITY"},
    ),
    (
        JSONFormatter,
        {"schema": str(make_schema(body="string"))},
        PEOPLE,
        {"body": "id, name, city, age"},
    ),
    (
        ScriptFilter,
        {"script": "function shouldFilter(input, context) { return input.id > 1; }"},
        BODY,
        {
            "body": "input.body assumed, input.id assumed",
            "id": "input.body assumed, input.id assumed",
            "*": "input.body FILTER assumed, input.id FILTER assumed",
        },
    ),
    (
        XMLMultiParser,
        {
            "field": "body",
            "xPath": "/a",
            "encoding": "UTF-8",
            "schema": str(make_schema(b=["string", "null"])),
        },
        BODY,
        {"b": "body", "*": "body FILTER"},
    ),
    (
        XMLParser,
        {
            "input": "body",
            "encoding": "UTF-8",
            "xPathMappings": "b:/a/b",
            "fieldTypeMapping": "b:string",
            "processOnError": "Ignore error and continue",
        },
        BODY,
        {"b": "body", "*": "body FILTER"},
    ),
    (
        XMLToJSON,
        {
            "inputField": "body",
            "outputField": "json",
            "schema": str(make_schema(json="string", id="int")),
        },
        BODY,
        {"json": "body", "*": "body FILTER", "id": "id IDENTITY"},
    ),
    (
        KeyValueSink,
        {"name": "t", "key.field": "name", "value.field": "city"},
        PEOPLE,
        {"key": "name IDENTITY", "value": "city IDENTITY", "*": "name GROUP_BY"},
    ),
]


@pytest.mark.parametrize(
    ("plugin", "properties", "inputs", "expected"),
    CASES,
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_edges(
    plugin: type[Plugin],
    properties: Mapping[str, str],
    inputs: Schema | Mapping[str, Schema],
    expected: Mapping[str, str],
) -> None:
    assert shorten(StageTester(plugin, properties, inputs).trace()) == expected


def list_operations(plugin: type[Plugin], properties: dict[str, str], inputs: Any) -> list[Any]:
    found = StageTester(plugin, properties, inputs).trace().operations
    return [(each.name, list(each.input_fields), list(each.output_fields)) for each in found]


def test_operations_have_the_names_of_the_original() -> None:
    assert list_operations(*CASES[0][:3]) == [
        ("convert_id", ["id"], ["id"]),
        ("renameFieldname", ["name"], ["customer"]),
        ("identity_city", ["city"], ["city"]),
        ("drop_age", ["age"], []),
    ]
    assert list_operations(*CASES[5][:3]) == [
        ("Join", ["people.id", "orders.owner"], ["id", "owner"]),
        ("Rename people.id", ["people.id"], ["person"]),
        ("Identity people.name", ["people.name"], ["name"]),
        ("Identity orders.total", ["orders.total"], ["total"]),
        ("Identity orders.id", ["orders.id"], ["id"]),
    ]
    assert list_operations(*CASES[1][:3])[0] == ("Group * n", [], ["n"])
