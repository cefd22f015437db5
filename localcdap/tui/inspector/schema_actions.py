"""The edits that take a schema, and the format of a file, from the data of a source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.document.values import as_properties
from localcdap.pipeline.editing.edits import CompoundEdit, Edit, SetProperty
from localcdap.pipeline.method_calls import SCHEMA, DetectedSchema
from localcdap.pipeline.rules.graph import SOURCES
from localcdap.text import plural
from localcdap.tui.document.editor import Editor


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
