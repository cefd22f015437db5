"""The pipeline that prepares the data of a split: a source, and the directives as a stage of Wrangler."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, Final

from localcdap.api import Schema

from .model import DataSplit, Experiment

TABLE: Final = "table:"
"""The beginning of a source that is a table of the namespace."""
_FORMATS: Final = {
    "csv": "csv",
    "tsv": "tsv",
    "json": "json",
    "jsonl": "json",
    "parquet": "parquet",
    "avro": "avro",
    "orc": "orc",
}
_LINE: Final = '{"type":"record","name":"line","fields":[{"name":"body","type":["string","null"]}]}'


def create_pipeline(experiment: Experiment, split: DataSplit) -> dict[str, Any]:
    """Return the pipeline of a split.

    As in mmds a file is read as lines, in the field ``body``. A file of another format than text, without
    directives, is read in its format, a CSV file with a header; a table has the columns that it has. An
    experiment with properties of its source has it read as they say, also with directives.
    """
    assert split.schema is not None
    directives = split.directives or []
    stages = [_make_source(experiment, split.schema, is_text=bool(directives))]
    if directives:
        stages.append(
            _make_stage(
                "prepare",
                "transform",
                "Wrangler",
                {
                    "field": "*",
                    "precondition": "false",
                    "threshold": "-1",
                    "on-error": "skip-error",
                    "directives": "\n".join(directives),
                    "schema": json.dumps(split.schema.to_json()),
                },
            )
        )
    stages.append(_make_stage("split", "batchsink", "Trash", {}))
    names = [each["name"] for each in stages]
    return {
        "name": experiment.name,
        "artifact": {"name": "cdap-data-pipeline", "version": "6.10.1", "scope": "SYSTEM"},
        "config": {
            "stages": stages,
            "connections": [{"from": a, "to": b} for a, b in pairwise(names)],
        },
    }


def _make_source(experiment: Experiment, schema: Schema, *, is_text: bool) -> dict[str, Any]:
    path, given = str(experiment.srcpath), experiment.source_properties
    if path.startswith(TABLE):
        table = {"name": path.removeprefix(TABLE)}
        if not is_text:
            table["schema"] = json.dumps(schema.to_json())
        return _make_stage("read", "batchsource", "Table", table)
    if given:
        schema_text = json.dumps(schema.to_json())
        properties = {"schema": schema_text, **given, "path": path, "referenceName": "experiment"}
        return _make_stage("read", "batchsource", "File", properties)
    format = "text" if is_text else _FORMATS.get(path.rpartition(".")[2].lower(), "text")
    properties = {"path": path, "referenceName": "experiment", "format": format}
    if format == "text":
        properties["schema"] = _LINE
    else:
        properties["schema"] = json.dumps(schema.to_json())
    if format in ("csv", "tsv"):
        properties |= {
            "skipHeader": "true",
            "enableQuotedValues": "true",
            "doubledQuotes": "true",
        }
    return _make_stage("read", "batchsource", "File", properties)


def _make_stage(name: str, type: str, plugin: str, properties: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "plugin": {"name": plugin, "type": type, "properties": properties}}
