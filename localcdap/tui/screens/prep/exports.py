"""What becomes of a recipe: a file of directives, a pipeline, or the whole file prepared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.host.cdap import Cdap
from localcdap.pipeline.recipe_files import apply_recipe
from localcdap.tui.screens.prep.source import PrepRequest, PrepView

_FORMATS: Final = {
    "json": "json",
    "parquet": "parquet",
    "orc": "orc",
    "avro": "avro",
    "excel": "xls",
    "blob": "blob",
}


def build_pipeline(request: PrepRequest, before: PrepView, after: PrepView) -> str:
    """Return the JSON of a pipeline that reads the data, applies the recipe and stores the rows in a table.

    :param before: the rows of the sample as they come; ``after``: those after the recipe.
    :raises BadRequestError: when the result has no columns.
    """
    if after.schema is None:
        raise BadRequestError("The result has no columns.", "Change the recipe.")
    name = request.source.name.partition(".")[0] or "prepared"
    clean = "".join(each if each.isalnum() or each in "_-" else "_" for each in name)
    source, schema = _build_source(request, before), json.dumps(after.schema)
    wrangler = {
        "field": "*",
        "precondition": "false",
        "directives": "\n".join(request.directives),
        "schema": schema,
    }
    first = after.schema["fields"][0]["name"]
    sink = {"name": f"{clean}_prepared", "schema.row.field": first, "schema": schema}
    stages = [
        _build_stage("Source", source[0], source[1], source[2], json.dumps(before.schema)),
        _build_stage("Wrangler", "Wrangler", "transform", wrangler, schema),
        _build_stage("Sink", "Table", "batchsink", sink, schema),
    ]
    connections = [{"from": "Source", "to": "Wrangler"}, {"from": "Wrangler", "to": "Sink"}]
    config = {"stages": stages, "connections": connections}
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.1", "scope": "SYSTEM"}
    return json.dumps({"name": clean, "artifact": artifact, "config": config}, indent=2)


def _build_source(request: PrepRequest, before: PrepView) -> tuple[str, str, dict[str, Any]]:
    given = request.source
    if not given.path:
        properties = {"name": given.table, "schema": json.dumps(before.schema)}
        return "Table", "batchsource", properties
    properties = {
        "referenceName": "".join(each if each.isalnum() else "_" for each in given.name),
        "path": given.path,
        "format": "text",
        "schema": json.dumps(before.schema),
    }
    format = before.format
    if format is not None and format.format in ("csv", "tsv"):
        properties |= {
            "format": "delimited",
            "delimiter": format.delimiter,
            "skipHeader": str(format.header).lower(),
            "enableQuotedValues": "true",
            "enableMultilineSupport": "true",
        }
    elif format is not None:
        properties["format"] = _FORMATS.get(format.format, "text")
        if format.format == "excel":
            properties["skipHeader"] = str(format.header).lower()
    return "File", "batchsource", properties


def _build_stage(
    stage: str, plugin: str, type: str, properties: dict[str, Any], schema: str
) -> dict[str, Any]:
    described = {"name": plugin, "type": type, "label": stage, "properties": properties}
    return {
        "name": stage,
        "plugin": described,
        "outputSchema": [{"name": "etlSchemaBody", "schema": schema}],
    }


def apply_to_all(cdap: Cdap, request: PrepRequest, output: Path) -> dict[str, Any]:
    """Apply a recipe to the whole file, and return the last progress; rows that fail are left out.

    :raises BadRequestError: when the file cannot be read or written.
    """
    given = request.source
    names = ("path", "format", "delimiter", "header", "encoding", "sheet")
    task = {
        "input": {name: getattr(given, name) for name in names},
        "output": str(output),
        "skips_failures": True,
    }
    recipe = "\n".join(request.directives)
    *_, last = apply_recipe(cdap.methods, recipe, task, request.namespace)
    return last
