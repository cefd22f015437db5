"""The edits that the data of a stage suggest: schema, format of a file, recipe in the prep area.

A Wrangler stage goes to the prep area with the records that reach it, and comes back with its recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from textual.app import App

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema
from localcdap.expectations.rules import KEY as EXPECTATIONS
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.document.values import as_properties
from localcdap.pipeline.editing.edits import CompoundEdit, Edit, SetExpectations, SetProperty
from localcdap.pipeline.method_calls import SCHEMA, DetectedSchema
from localcdap.pipeline.methods import MethodCall, MethodPlugin
from localcdap.pipeline.rules.graph import SOURCES
from localcdap.text import plural
from localcdap.tui.document.editor import Editor
from localcdap.tui.inspector.preview.sample_input import UpstreamRecords
from localcdap.tui.routes import PrepStageTarget


class SchemaNotice(NamedTuple):
    """What the user reads after a schema was looked for."""

    message: str
    detail: str = ""
    is_warning: bool = False


def explain_no_schema(use: StageUse | None) -> str | None:
    """Return why a stage has no data to take a schema from; None for a source."""
    if use is None:
        return "no stage is selected"
    if use.plugin.type not in SOURCES:
        return f"{use.name} is not a source, so its schemas follow from its inputs"
    return None


def change_properties(node: Mapping[str, Any], values: Mapping[str, str | None]) -> dict[str, Any]:
    """Return a stage of a document with other values of properties; None removes one."""
    plugin = dict(node.get("plugin") or {})
    properties = {**as_properties(plugin.get("properties") or {}), **values}
    plugin["properties"] = {name: text for name, text in properties.items() if text is not None}
    return {**node, "plugin": plugin}


def build_edit(editor: Editor, stage: str, values: Mapping[str, str | None]) -> Edit | None:
    """Return the edit that sets properties of a stage; None when they have these values already."""
    before = as_properties(editor.get_properties(stage))
    edits: list[Edit] = [
        SetProperty(stage, name, text) for name, text in values.items() if before.get(name) != text
    ]
    return CompoundEdit(edits) if edits else None


def describe_detection(stage: str, found: DetectedSchema, *, is_new: bool) -> SchemaNotice:
    """Return what was found in the data of a stage.

    :param is_new: whether the stage had another schema before.
    """
    failure = found.failure
    if found.schema is None:
        message = failure.message if failure is not None else "The plugin does not tell its schema."
        action = (failure.corrective_action or "") if failure is not None else ""
        return SchemaNotice(f"{stage}: no schema was found. {message}", action, is_warning=True)
    count = plural(len(found.schema.fields or ()), "field")
    if not is_new:
        return SchemaNotice(f"{stage} has this schema already: {count}.")
    return SchemaNotice(f"{stage} got a schema with {count}.", "ctrl+z undoes it.")


def build_schema_value(found: DetectedSchema) -> dict[str, str | None]:
    """Return the property that a detected schema sets; empty without a schema."""
    return {SCHEMA: str(found.schema)} if found.schema is not None else {}


RECORDS: Final = 1000
"""The most records that each source reads."""
DIRECTIVES: Final = "directives"
_ALL: Final = ("", "*")
_KEPT: Final = ("#", "//")
"""How lines begin that have comments and pragmas."""


def explain_no_preparation(use: StageUse | None, schema: Schema | None) -> str | None:
    """Return why the prep area cannot show a stage; None when it can."""
    if use is None:
        return "no stage is selected"
    if use.plugin.name != "Wrangler" or use.plugin.type != "transform":
        return f"{use.name} has no recipe; only a Wrangler stage has one"
    if schema is None:
        return f"the schema of the records that reach {use.name} is not known"
    if use.plugin.properties.get("field") == "#":
        return "its recipe gets whole records in one column"
    return None


def prepare_stage(
    editor: Editor, stage: str, schema: Schema, app: App[object]
) -> Callable[[Cdap], PrepStageTarget]:
    """Return the call that reads the records of a stage; it runs in a thread.

    :param schema: of the records that reach the stage.
    :param app: shows the pipeline again when the stage has its recipe.
    """
    document, text, namespace = editor.document, editor.to_text(), editor.namespace
    arguments, title = dict(editor.arguments), editor.title
    properties = editor.get_properties(stage)
    recipe = str(properties.get(DIRECTIVES) or "")
    field = str(properties.get("field") or "")

    rules = editor.get_node(stage).get(EXPECTATIONS)

    def take(directives: str, made: str | None, expected: list[Any]) -> None:
        """Set the recipe, the schema and the rules, as one edit."""
        kept = [line for line in recipe.splitlines() if line.lstrip().startswith(_KEPT)]
        values: dict[str, str | None] = {DIRECTIVES: "\n".join([*kept, directives])}
        if made is not None:
            values["schema"] = made
        node = editor.get_node(stage)
        edit = build_edit(editor, stage, values) if node else None
        edits: list[Edit] = [] if edit is None else [edit]
        if node and expected != (node.get(EXPECTATIONS) or []):
            edits.append(SetExpectations(stage, expected))
        if edits:
            editor.apply(CompoundEdit(edits))
        app.switch_mode("studio")

    def read(cdap: Cdap) -> PrepStageTarget:
        upstream = UpstreamRecords(
            document, text, namespace=namespace, arguments=arguments, records=RECORDS
        )
        records = _read_records(cdap, upstream, document, stage)
        given = schema
        if field not in _ALL:
            found = schema.field(field)
            if found is None:
                raise BadRequestError(
                    f"The records that reach '{stage}' have no field '{field}'.",
                    "Correct the property 'field'.",
                )
            given = Schema.record("row", [found])
            records = [{field: each.get(field)} for each in records]
        directives = _split_recipe(cdap, recipe, namespace)
        expected = rules if isinstance(rules, list) else []
        return PrepStageTarget(
            title, stage, given, records, directives, arguments, take, list(expected)
        )

    return read


def _read_records(
    cdap: Cdap, upstream: UpstreamRecords, document: PipelineDocument, stage: str
) -> list[Any]:
    sources = dict.fromkeys(each.source for each in document.connections if each.target == stage)
    return [record for source in sources for record in upstream.read_arriving(cdap, stage, source)]


def _split_recipe(cdap: Cdap, recipe: str, namespace: str) -> list[str]:
    """Return the directives of a recipe; its lines when it has mistakes, or macros for whole directives."""
    if not recipe.strip():
        return []
    plugin = MethodPlugin("transform", "Wrangler")
    answer = cdap.methods.call(MethodCall(plugin, "check", {"recipe": recipe}, namespace)).answer
    if any(not each.get("is_warning") for each in answer["problems"]):
        lines = (line.strip().rstrip(";") for line in recipe.splitlines())
        return [line for line in lines if line and not line.startswith(_KEPT)]
    return list(answer["directives"])
