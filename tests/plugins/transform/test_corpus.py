"""The stages of real pipelines that use these plugins."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core_plugins.aggregators.deduplicate import Deduplicate, Distinct
from core_plugins.aggregators.group_by_aggregate import GroupByAggregate
from core_plugins.error_collector import ErrorCollector
from core_plugins.joins.joiner import Joiner
from core_plugins.projection import Projection
from core_plugins.scripts.javascript import JavaScript
from transform_plugins.csv.parser import CSVParser
from transform_plugins.splitters import UnionSplitter

from localcdap.api import Field, Schema, Type
from tests.plugins.transform.support import configure, messages, run

PLUGINS = {
    cls.__name__: cls
    for cls in (
        CSVParser,
        Deduplicate,
        Distinct,
        ErrorCollector,
        GroupByAggregate,
        JavaScript,
        Joiner,
        Projection,
        UnionSplitter,
    )
}


def stages(corpus: Path) -> Iterator[dict[str, Any]]:
    """Every plugin of these names in the corpus, wherever it stands in a document."""
    for file in sorted((corpus / "pipelines").glob("*.json")):
        yield from _plugins(json.loads(file.read_text(encoding="utf-8")))


def _plugins(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, list):
        for inner in node:
            yield from _plugins(inner)
    elif isinstance(node, dict):
        if str(node.get("name")) in PLUGINS and isinstance(node.get("artifact"), dict):
            yield node
        for inner in node.values():
            yield from _plugins(inner)


def properties(plugin: dict[str, Any]) -> dict[str, str]:
    return {k: str(v) for k, v in plugin["properties"].items() if v is not None}


def test_each_plugin_is_in_the_artifact_that_real_pipelines_name(corpus):
    for plugin in stages(corpus):
        package = PLUGINS[plugin["name"]].__module__.split(".")[0]

        assert plugin["artifact"]["name"] == package.replace("_", "-")


def test_the_properties_of_real_stages_are_accepted(corpus):
    seen = set()
    for plugin in stages(corpus):
        given = properties(plugin)
        stage = configure(PLUGINS[plugin["name"]], given, named=_inputs(given))

        needs_schema = plugin["name"] == "Joiner" and "schema" not in given
        assert messages(stage) == ["Output schema must be specified"] * needs_schema, given
        seen.add(plugin["name"])
    assert seen == set(PLUGINS)


def _inputs(given: dict[str, str]) -> dict[str, None]:
    """Inputs of unknown schema; to a joiner those that its keys name."""
    keys = [key.strip() for key in re.split("[&=]", given.get("joinKeys", "in."))]
    return {key.split(".")[0]: None for key in keys}


SAMPLES = {
    Type.STRING: "4111111111111111",
    Type.INT: 5,
    Type.LONG: 5,
    Type.DOUBLE: 2.0,
    Type.FLOAT: 2.0,
    Type.BOOLEAN: True,
}


def test_the_scripts_of_real_stages_run(corpus):
    scripts = [p for p in stages(corpus) if p["name"] == "JavaScript"]
    for plugin in scripts:
        schema = Schema.parse_record(plugin["properties"]["schema"])
        fields = {f.name: _sample(f.schema) for f in schema}
        extra = {"ts": 5, "message": "m", "prediction": 1.0, "label": "spam", "text": "t"}
        added = [Field(*pair) for pair in _missing(schema, extra)]
        given = Schema.record("given", [*schema, *added])

        emitted = run(JavaScript, properties(plugin), given, [extra | fields])

        assert len(emitted.records) <= 1
        assert all(set(r) == set(schema.field_names) for r in emitted.records)
    assert len(scripts) >= 15


def _sample(schema: Schema) -> Any:
    if schema.type is Type.UNION:
        return _sample(schema.non_nullable.members[0] if schema.members else schema)
    return {"k": "v"} if schema.type is Type.MAP else SAMPLES[schema.type]


def _missing(schema: Schema, values: dict[str, Any]) -> list[tuple[str, Schema]]:
    types = {int: Schema.LONG, float: Schema.DOUBLE, str: Schema.STRING}
    return [(n, types[type(v)]) for n, v in values.items() if schema.field(n) is None]


def test_masking_of_card_numbers(corpus):
    plugin = next(
        p for p in stages(corpus) if "credit_card_num" in p["properties"].get("script", "")
    )
    schema = Schema.parse_record(plugin["properties"]["schema"])
    given = dict.fromkeys(schema.field_names, "x") | {"credit_card_num": "4111111111111234"}

    (masked,) = run(JavaScript, properties(plugin), schema, [given]).records

    assert masked == given | {"credit_card_num": "************1234"}
