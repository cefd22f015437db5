"""The Wrangler stages of real pipelines run on data made from their input schemas."""

from __future__ import annotations

import datetime
import json
import random
from typing import Any

import pytest

from localcdap.api import Schema, Type
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.testing import artifact_ref
from localcdap.testing.pipeline import PipelineTester
from tests.conftest import REPOSITORY

WORDS = [
    "",
    "ann",
    "Bob Ray",
    "a,b,c,d,e,f,g",
    "1",
    "-7.5",
    "2021-03-04",
    "x@y.org",
    "<a>1</a>",
    "{}",
    "ä ö",
]
RECORDS = 12


def made(schema: Schema, draw: random.Random) -> Any:
    """A value of a schema."""
    if schema.is_nullable and draw.random() < 0.2:
        return None
    inner = schema.non_nullable
    if inner.logical_type is not None:
        return {
            "date": datetime.date(2021, 3, 4),
            "timestamp": datetime.datetime(2021, 3, 4, 5, 6, 7, tzinfo=datetime.UTC),
            "datetime": datetime.datetime(2021, 3, 4, 5, 6, 7),
            "time": datetime.time(5, 6, 7),
        }[inner.logical_type.value.partition("-")[0]]
    match inner.type:
        case Type.INT | Type.LONG:
            return draw.randrange(-100, 100)
        case Type.FLOAT | Type.DOUBLE:
            return draw.randrange(-100, 100) / 4
        case Type.BOOLEAN:
            return draw.random() < 0.5
        case Type.BYTES:
            return draw.choice(WORDS).encode()
        case _:
            return draw.choice(WORDS)


def stages(corpus) -> list[tuple[str, dict[str, str], Schema]]:
    """The stages whose recipe is known and right here, with what comes in."""
    found = []
    for file in sorted((corpus / "pipelines").glob("*.json")):
        document = json.loads(file.read_text(encoding="utf-8"))
        config = document.get("config", document) if isinstance(document, dict) else {}
        for stage in config.get("stages") or ():
            plugin = stage.get("plugin") or {}
            inputs = stage.get("inputSchema")
            if plugin.get("name") != "Wrangler" or not isinstance(inputs, list) or not inputs:
                continue
            properties = plugin["properties"]
            steps = load_recipe(properties.get("directives") or "")
            given, declared = inputs[0].get("schema"), properties.get("schema")
            if steps.errors or not steps.is_complete or not given or "${" in str(declared):
                continue
            found.append((f"{file.name[:3]} {stage['name']}", properties, Schema.parse(given)))
    return found


@pytest.mark.slow
@pytest.mark.spark
def test_they_run_whole_and_every_record_is_accounted_for(corpus, spark, tmp_path):
    wrangler = artifact_ref(REPOSITORY / "plugins_dir" / "wrangler", "transform", "Wrangler")
    pipeline = PipelineTester(spark, tmp_path)
    draw = random.Random(7)
    names = []
    for name, properties, given in stages(corpus):
        records = [{f.name: made(f.schema, draw) for f in given} for _ in range(RECORDS)]
        pipeline.source(f"in {name}", given, records)
        kept = {key: text for key, text in properties.items() if "${" not in text}
        kept["on-error"] = "send-to-error-port"
        pipeline.stage(name, wrangler, kept, [f"in {name}"])
        pipeline.sink(f"out {name}", name)
        pipeline.collect_errors(f"errors {name}", name)
        names.append(name)

    counts = pipeline.run()

    assert len(names) >= 15
    for name in names:
        counted = counts[name]
        assert counted.in_ == RECORDS, name
        assert len(pipeline.read(f"out {name}")) == counted.out, name
        errors = pipeline.read(f"errors {name}")
        assert len(errors) == counted.error, name
        assert all(each["message"] for each in errors), name
