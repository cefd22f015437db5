"""Small pipelines over files, in the shape that CDAP exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def schema(**fields: str | list[Any]) -> str:
    """A record schema as the JSON text of a property."""
    listed = [{"name": name, "type": type} for name, type in fields.items()]
    return json.dumps({"type": "record", "name": "row", "fields": listed})


def stage(
    stage_name: str, type: str, plugin: str, artifact: str = "core-plugins", **properties: str
) -> dict[str, Any]:
    """A stage; ``__`` in the name of a property stands for a dot."""
    return {
        "name": stage_name,
        "plugin": {
            "name": plugin,
            "type": type,
            "artifact": {"name": artifact, "version": "[1.0.0,9.0.0)", "scope": "SYSTEM"},
            "properties": {key.replace("__", "."): value for key, value in properties.items()},
        },
    }


def pipeline(stages: list[dict[str, Any]], *connections: tuple[str, ...]) -> dict[str, Any]:
    """A batch pipeline; a connection is (from, to) or (from, to, port)."""
    listed = [dict(zip(("from", "to", "port"), c, strict=False)) for c in connections]
    return {
        "name": "test_pipeline",
        "artifact": {"name": "cdap-data-pipeline", "version": "6.8.0", "scope": "SYSTEM"},
        "config": {"engine": "spark", "stages": stages, "connections": listed},
    }


def write(document: dict[str, Any], path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def csv_source(name: str, path: Path, schema: str, **properties: str) -> dict[str, Any]:
    return stage(
        name,
        "batchsource",
        "File",
        referenceName="in",
        path=str(path),
        format="csv",
        schema=schema,
        **properties,
    )


def json_sink(name: str, path: Path, **properties: str) -> dict[str, Any]:
    return stage(
        name, "batchsink", "File", referenceName="out", path=str(path), format="json", **properties
    )


def python(name: str, script: str, schema: str) -> dict[str, Any]:
    return stage(name, "transform", "PythonEvaluator", script=script, schema=schema)


def json_records(directory: Path) -> list[dict[str, Any]]:
    """The records of a JSON sink, sorted."""
    lines = [line for file in directory.rglob("part-*") for line in file.read_text().splitlines()]
    return sorted((json.loads(line) for line in lines), key=lambda record: json.dumps(record))
