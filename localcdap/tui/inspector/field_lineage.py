"""The dataset that a stage reads or writes, and its fields: for the lineage of a field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localcdap.api.lineage import find_dataset_name
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.document.values import as_properties
from localcdap.pipeline.editing.stage_states import StageState
from localcdap.pipeline.rules.plugin_types import CONTROL, SINKS, SOURCES
from localcdap.tui.document.editor import Editor


def find_dataset(properties: Mapping[str, Any]) -> str | None:
    """Return the dataset that the properties of a source or sink name; None when they name none."""
    given = as_properties(properties).items()
    return find_dataset_name({key: text for key, text in given if text is not None})


def explain_no_dataset(use: StageUse | None, editor: Editor) -> str | None:
    """Return why the lineage of the fields of a stage is not known; None when it is."""
    if use is None:
        return "no stage is selected"
    if use.plugin.type in CONTROL:
        return f"{use.name} handles no records"
    if use.plugin.type not in SOURCES | SINKS:
        return None  # within the pipeline as it is designed
    dataset = find_dataset(editor.get_properties(use.name))
    if dataset is None:
        return f"{use.name} has no reference name and no table"
    return f"the dataset of {use.name} is known in a run only" if "${" in dataset else None


def list_fields(state: StageState | None) -> list[str]:
    """Return the fields of what a stage gives, or of what a sink takes."""
    if state is None:
        return []
    given = [state.output_schema] if state.output_schema is not None else []
    schemas = given or [each for each in state.input_schemas.values() if each is not None]
    return list(dict.fromkeys(field.name for schema in schemas for field in schema))
