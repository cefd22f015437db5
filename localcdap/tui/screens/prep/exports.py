"""What becomes of a recipe: a file of directives, a pipeline, or the whole file prepared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from localcdap.api.connector import SpecificationRequest
from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema
from localcdap.expectations.rules import KEY as EXPECTATIONS
from localcdap.expectations.rules import Expectation, to_json
from localcdap.host.cdap import Cdap
from localcdap.pipeline.method_calls import build_recipe_stage, export_recipe
from localcdap.text import plural
from localcdap.tui.screens.prep.source import FILE_OPTIONS, PrepRequest, read_view
from localcdap.workspace_views import SampleRecords, WorkspaceView

_FORMATS: Final = {
    "json": "json",
    "parquet": "parquet",
    "orc": "orc",
    "avro": "avro",
    "excel": "xls",
    "blob": "blob",
}


@dataclass(frozen=True)
class PreparedData:
    """Data with a recipe.

    :param before: the rows of the sample as they come; ``after``: those after the recipe.
    :param reader: the name, the type and the properties of the source that reads all of the data.
    """

    request: PrepRequest
    before: WorkspaceView
    after: WorkspaceView
    reader: tuple[str, str, dict[str, str]]


def read_prepared(cdap: Cdap, request: PrepRequest) -> PreparedData:
    """Read what a pipeline with a recipe needs to know.

    :raises BadRequestError: when no source reads the data, or the result has no columns.
    """
    before, after = read_view(cdap, replace(request, step=0)), read_view(cdap, request)
    if request.source.connection:
        found = find_reader(cdap, request, before)
        if found is None:
            raise BadRequestError(
                f"No source of pipelines reads what the connection '{request.source.connection}' shows.",
                "Save the data in a file, or copy the stage into a pipeline that has them.",
            )
        reader = found
    else:
        reader = build_source(request, before)
    return PreparedData(request, before, after, reader)


def build_pipeline(data: PreparedData, duplicates: str | None = None) -> str:
    """Return the JSON of a pipeline that reads the data, applies the recipe and stores the rows in a table.

    :param duplicates: the columns, separated by commas, of which rows are dropped that are there again; ""
        for all columns, None to keep such rows.
    :raises BadRequestError: when the result has no columns.
    """
    branch = _build_branch(data, "")
    schema = _get_schema(data.after)
    if duplicates is not None:
        name, properties = "Distinct", {"fields": ""}
        if duplicates:
            name, properties = "Deduplicate", {"uniqueFields": duplicates}
        branch.append(_build_stage(name, name, "batchaggregator", properties, str(schema)))
    name = _clean_name(data.request)
    return _write_pipeline(name, branch, [_chain(branch)], schema.to_json())


def build_joined_pipeline(
    left: PreparedData, right: PreparedData, keys: tuple[str, str], *, is_inner: bool
) -> str:
    """Return the JSON of a pipeline that joins two sets of rows, each with its recipe, into a table.

    :param keys: the column of each that are to be equal.
    :param is_inner: whether rows of the left without others are dropped.
    :raises BadRequestError: when one of them has no columns.
    """
    branches = [_build_branch(left, " 1"), _build_branch(right, " 2")]
    names = [branch[-1]["name"] for branch in branches]
    schemas = _get_schema(left.after).to_json(), _get_schema(right.after).to_json()
    fields, selected = _select_joined(names, schemas)
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
    name = f"{_clean_name(left.request)}_{_clean_name(right.request)}"
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


def build_stage_text(request: PrepRequest, after: WorkspaceView) -> str:
    """Return the Wrangler stage of a recipe as the canvas of a pipeline takes it.

    :raises BadRequestError: when the result has no columns.
    """
    return json.dumps({"stages": [_build_wrangler(request, after, "Wrangler")], "connections": []})


def build_branch_text(data: PreparedData) -> str:
    """Return the source and the Wrangler stage of a recipe as the canvas of a pipeline takes them."""
    branch = _build_branch(data, "")
    return json.dumps({"stages": branch, "connections": _chain(branch)})


def _build_branch(data: PreparedData, suffix: str) -> list[dict[str, Any]]:
    plugin, type, properties = data.reader
    schema = _get_schema(data.before)
    source = _build_stage(f"Source{suffix}", plugin, type, properties, str(schema))
    return [source, _build_wrangler(data.request, data.after, f"Wrangler{suffix}")]


def _build_wrangler(request: PrepRequest, after: WorkspaceView, name: str) -> dict[str, Any]:
    schema = str(_get_schema(after))
    properties = {
        "field": "*",
        "precondition": "false",
        "directives": "\n".join(request.directives),
        "schema": schema,
    }
    stage = _build_stage(name, "Wrangler", "transform", properties, schema)
    rules = to_json(list(request.rules))
    return stage | {EXPECTATIONS: rules} if rules else stage


def _get_schema(view: WorkspaceView) -> Schema:
    wrong = [each for each in view.problems if not each.is_warning]
    if wrong:  # the rows are those before the directive
        reason = wrong[0].text.rstrip(".")
        raise BadRequestError(f"The recipe cannot run: {reason}.", "Correct it first.")
    if view.schema is None:
        raise BadRequestError("The result has no columns.", "Change the recipe.")
    return view.schema


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


def find_reader(
    cdap: Cdap, request: PrepRequest, before: WorkspaceView
) -> tuple[str, str, dict[str, str]] | None:
    """Return the source that reads what a connection shows, as its connector specifies it, if any does."""
    source = request.source
    wanted = SpecificationRequest(source.place, before.reading | source.reading)
    related = cdap.connectors.specify(request.namespace, source.connection, wanted).related_plugins
    found = next((each for each in related if each.type == "batchsource"), None)
    if found is None:
        return None
    return found.name, found.type, {"schema": str(_get_schema(before))} | found.properties


def build_source(request: PrepRequest, before: WorkspaceView) -> tuple[str, str, dict[str, str]]:
    """Return plugin, type and properties of the stage that reads the file or the table of a request.

    :param before: the rows of the sample as they come.
    """
    given = request.source
    if not given.path:
        properties = {"name": given.table, "schema": str(_get_schema(before))}
        return "Table", "batchsource", properties
    properties = {
        "referenceName": "".join(each if each.isalnum() else "_" for each in given.name),
        "path": given.path,
        "format": "text",
        "schema": str(_get_schema(before)),
    }
    format = before.format
    if format is not None and format.skip_lines:
        raise BadRequestError(
            f"No source of pipelines leaves out the first {plural(format.skip_lines, 'line')} of a file.",
            "Apply the recipe to all rows, and make the pipeline of the file with the result.",
        )
    if format is not None and format.format in ("csv", "tsv"):
        properties |= {
            "format": "delimited",
            "delimiter": format.delimiter,
            "skipHeader": str(format.header).lower(),
            "enableQuotedValues": "true",
            "doubledQuotes": "true",
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


def write_recipe(directives: Sequence[str], rules: Sequence[Expectation]) -> str:
    """Return a recipe as a file: directives as text, or with rules a document in JSON."""
    if not rules:
        return "\n".join(directives) + "\n"
    document = {"directives": list(directives), EXPECTATIONS: to_json(list(rules))}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def read_program(cdap: Cdap, request: PrepRequest, language: str) -> str:
    """Return a recipe as a program of Spark, see the method ``export`` of Wrangler.

    :raises BadRequestError: when Spark has no equal of a directive; says its line and the reason.
    """
    before, after = read_view(cdap, replace(request, step=0)), read_view(cdap, request)
    source = request.source
    is_file = bool(source.path) and not source.connection
    asked = {
        "language": language,
        "input": {name: getattr(source, name) for name in ("path", *FILE_OPTIONS)}
        if is_file
        else None,
        "schema": _to_json(before.schema),
        "result": _to_json(after.schema),
    }
    stage = build_recipe_stage("\n".join(request.directives))
    return export_recipe(cdap.methods, stage, asked, request.namespace, request.arguments)


def _to_json(schema: Schema | None) -> object:
    return None if schema is None else schema.to_json()


def write_test(pipeline: Path, found: SampleRecords) -> str:
    """Return the JSON of a test that the recipe makes the same rows of the same records.

    :param pipeline: the file of the pipeline, in the folder of the test.
    """
    content = {
        "pipeline": pipeline.name,
        "given": {"Source": found.records},
        "expect": {"Wrangler": found.made},
    }
    return json.dumps(content, indent=2)
