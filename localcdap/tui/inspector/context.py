"""What a form knows besides its properties: the fields around its stage, and what macros there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from localcdap.api.schema import Schema
from localcdap.pipeline.editing.stage_states import StageState
from localcdap.tui.inspector.properties import elements
from localcdap.tui.inspector.properties.elements import ElementPart
from localcdap.tui.inspector.properties.suggestions import (
    Suggestion,
    suggest_join_keys,
    suggest_joined_fields,
)

_TYPES: Final = (
    *("boolean", "int", "long", "float", "double", "bytes", "string"),
    *("date", "time", "timestamp", "datetime", "decimal"),
)
FUNCTIONS: Final = {
    "logicalStartTime(yyyy-MM-dd)": "when the run was meant to start",
    "logicalStartTime(yyyy-MM-dd,1d,UTC)": "a day before that, in UTC",
}


class FieldContext(msgspec.Struct):
    """Shared by the fields of a form, and brought up to date while they are there."""

    inputs: dict[str, Schema | None] = {}
    output: Schema | None = None
    arguments: dict[str, str] = {}
    """Of the run that is being prepared."""
    preferences: dict[str, str] = {}
    secure_keys: list[str] = []

    def update(self, state: StageState | None) -> None:
        """Take the schemas that a stage has now."""
        self.inputs = state.input_schemas if state is not None else {}
        self.output = state.output_schema if state is not None else None

    def list_suggestions(self, part: ElementPart) -> list[Suggestion]:
        """What can stand in a part of an element."""
        if part.choices:
            return [Suggestion(choice) for choice in part.choices]
        match part.kind:
            case elements.INPUT_FIELD:
                return _fields(schema for schema in self.inputs.values() if schema is not None)
            case elements.OUTPUT_FIELD:
                return _fields([self.output] if self.output is not None else [])
            case elements.INPUT_STAGE:
                return [Suggestion(stage, "input") for stage in self.inputs]
            case elements.JOINED_FIELD:
                return suggest_joined_fields(self._known_inputs)
            case elements.JOIN_KEYS:
                return suggest_join_keys(self._known_inputs)
            case elements.TYPE:
                return [Suggestion(type) for type in _TYPES]
        return []

    @property
    def _known_inputs(self) -> dict[str, Schema]:
        return {stage: schema for stage, schema in self.inputs.items() if schema is not None}

    def list_macros(self) -> list[Suggestion]:
        """What can stand between ``${`` and ``}``, nearest first."""
        found = {name: f"argument: {value}" for name, value in self.arguments.items()}
        for name, value in self.preferences.items():
            found.setdefault(name, f"preference: {value}")
        found |= {f"secure({key})": "secure key" for key in self.secure_keys}
        found |= FUNCTIONS
        return [Suggestion(name, hint) for name, hint in found.items()]


def _fields(schemas: Iterable[Schema]) -> list[Suggestion]:
    found: dict[str, str] = {}
    for schema in schemas:
        for field in schema:
            found.setdefault(field.name, field.schema.display_name)
    return [Suggestion(name, type) for name, type in found.items()]
