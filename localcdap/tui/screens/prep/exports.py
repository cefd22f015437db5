"""What becomes of a recipe: a file of directives, a pipeline, or the whole file prepared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.tui.screens.prep.answers import PrepRecords, PrepView
from localcdap.tui.screens.prep.source import PrepRequest

_FORMATS: Final = {
    "json": "json",
    "parquet": "parquet",
    "orc": "orc",
    "avro": "avro",
    "excel": "xls",
    "blob": "blob",
}


def build_pipeline(
    request: PrepRequest, before: PrepView, after: PrepView, duplicates: str | None = None
) -> str:
    """Return the JSON of a pipeline that reads the data, applies the recipe and stores the rows in a table.

    :param before: the rows of the sample as they come; ``after``: those after the recipe.
    :param duplicates: the columns, separated by commas, of which rows are dropped that are there again; ""
        for all columns, None to keep such rows.
    :raises BadRequestError: when the result has no columns.
    """
    branch = _build_branch(request, before, after, "")
    schema = json.dumps(after.schema)
    if duplicates is not None:
        name, properties = "Distinct", {"fields": ""}
        if duplicates:
            name, properties = "Deduplicate", {"uniqueFields": duplicates}
        branch.append(_build_stage(name, name, "batchaggregator", properties, schema))
    return _write_pipeline(_clean_name(request), branch, [_chain(branch)], after.schema)


def build_joined_pipeline(
    left: tuple[PrepRequest, PrepView, PrepView],
    right: tuple[PrepRequest, PrepView, PrepView],
    keys: tuple[str, str],
    *,
    is_inner: bool,
) -> str:
    """Return the JSON of a pipeline that joins two sets of rows, each with its recipe, into a table.

    :param left: a request with the rows before and after its recipe; ``right``: the other one.
    :param keys: the column of each that are to be equal.
    :param is_inner: whether rows of the left without others are dropped.
    :raises BadRequestError: when one of them has no columns.
    """
    branches = [_build_branch(*each, suffix) for each, suffix in ((left, " 1"), (right, " 2"))]
    names = [branch[-1]["name"] for branch in branches]
    fields, selected = _select_joined(names, (left[2].schema, right[2].schema))
    schema = {"type": "record", "name": "joined", "fields": fields}
    joiner = _build_stage(
        "Joiner",
        "Joiner",
        "batchjoiner",
        {
            "selectedFields": ",".join(selected),
            "requiredInputs": ", ".join(names if is_inner else names[:1]),
            "joinKeys": " = ".join(f"{name}.{key}" for name, key in zip(names, keys, strict=True)),
            "schema": json.dumps(schema),
        },
        json.dumps(schema),
    )
    stages = [*branches[0], *branches[1], joiner]
    chains = [_chain([*branch, joiner]) for branch in branches]
    name = f"{_clean_name(left[0])}_{_clean_name(right[0])}"
    return _write_pipeline(name, stages, chains, schema)


def _select_joined(
    names: Sequence[str], schemas: tuple[Any, Any]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the fields of a join, and how a Joiner selects them: those of a taken name get a number."""
    fields: list[dict[str, Any]] = []
    selected: list[str] = []
    taken: set[str] = set()
    for number, (stage, schema) in enumerate(zip(names, schemas, strict=True)):
        for each in schema["fields"]:
            name = each["name"]
            while name.lower() in taken:
                name = f"{name}_2"
            taken.add(name.lower())
            kind = each["type"]
            is_nullable = isinstance(kind, list) and "null" in kind
            fields.append(
                {"name": name, "type": kind if is_nullable or not number else [kind, "null"]}
            )
            selected.append(f"{stage}.{each['name']} as {name}")
    return fields, selected


def build_stage_text(request: PrepRequest, after: PrepView) -> str:
    """Return the Wrangler stage of a recipe as the canvas of a pipeline takes it.

    :raises BadRequestError: when the result has no columns.
    """
    return json.dumps({"stages": [_build_wrangler(request, after, "Wrangler")], "connections": []})


def _build_branch(
    request: PrepRequest, before: PrepView, after: PrepView, suffix: str
) -> list[dict[str, Any]]:
    plugin, type, properties = build_source(request, before)
    source = _build_stage(f"Source{suffix}", plugin, type, properties, json.dumps(before.schema))
    return [source, _build_wrangler(request, after, f"Wrangler{suffix}")]


def _build_wrangler(request: PrepRequest, after: PrepView, name: str) -> dict[str, Any]:
    if after.schema is None:
        raise BadRequestError("The result has no columns.", "Change the recipe.")
    schema = json.dumps(after.schema)
    properties = {
        "field": "*",
        "precondition": "false",
        "directives": "\n".join(request.directives),
        "schema": schema,
    }
    return _build_stage(name, "Wrangler", "transform", properties, schema)


def _clean_name(request: PrepRequest) -> str:
    name = request.source.name.partition(".")[0] or "prepared"
    return "".join(each if each.isalnum() or each in "_-" else "_" for each in name)


def _chain(stages: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    names = [each["name"] for each in stages]
    return [{"from": one, "to": other} for one, other in pairwise(names)]


def _write_pipeline(
    name: str,
    stages: Sequence[dict[str, Any]],
    chains: Sequence[list[dict[str, str]]],
    schema: Any,
) -> str:
    """Return the JSON of a pipeline whose last stage goes into a table."""
    written = json.dumps(schema)
    first = schema["fields"][0]["name"]
    sink = {"name": f"{name}_prepared", "schema.row.field": first, "schema": written}
    every = [*stages, _build_stage("Sink", "Table", "batchsink", sink, written)]
    last = {"from": stages[-1]["name"], "to": "Sink"}
    connections = [*(each for chain in chains for each in chain), last]
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.1", "scope": "SYSTEM"}
    config = {"stages": every, "connections": connections}
    return json.dumps({"name": name, "artifact": artifact, "config": config}, indent=2)


def build_source(request: PrepRequest, before: PrepView) -> tuple[str, str, dict[str, Any]]:
    """Return plugin, type and properties of the stage that reads the data of a request.

    :param before: the rows of the sample as they come.
    """
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


def write_test(pipeline: Path, found: PrepRecords) -> str:
    """Return the JSON of a test that the recipe makes the same rows of the same records.

    :param pipeline: the file of the pipeline, in the folder of the test.
    """
    content = {
        "pipeline": pipeline.name,
        "given": {"Source": found.records},
        "expect": {"Wrangler": found.made},
    }
    return json.dumps(content, indent=2)
