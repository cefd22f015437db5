"""The context of a form's fields: schemas of the stage, and the names that macros can use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from localcdap.api.schema import Schema
from localcdap.pipeline.editing.incremental_validator import StageState
from localcdap.pipeline.paths.service import PathQuery
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
    "logicalStartTime(yyyy-MM-dd)": "the start time of the run",
    "logicalStartTime(yyyy-MM-dd,1d,UTC)": "a day before the start, in UTC",
}


class FieldContext(msgspec.Struct):
    """The context that all fields of a form share; it is updated while they exist."""

    namespace: str = "default"
    inputs: dict[str, Schema | None] = {}
    output: Schema | None = None
    arguments: dict[str, str] = {}
    """The runtime arguments of the next run."""
    preferences: dict[str, str] = {}
    secure_keys: list[str] = []
    connections: list[str] = []

    def update(self, state: StageState | None) -> None:
        """Use the current schemas of a stage."""
        self.inputs = state.input_schemas if state is not None else {}
        self.output = state.output_schema if state is not None else None

    def set_names(
        self, preferences: dict[str, str], secure_keys: list[str], connections: list[str]
    ) -> None:
        """Use the names that macros can refer to."""
        self.preferences, self.secure_keys = preferences, secure_keys
        self.connections = connections

    @property
    def first_input(self) -> Schema | None:
        """The schema of the first input; None without one, or while it is not known."""
        return next(iter(self.inputs.values()), None)

    def create_path_query(self, path: str) -> PathQuery:
        """Return the query for a path of the stage, with the arguments of the next run."""
        return PathQuery(path, self.namespace, self.arguments)

    def list_suggestions(self, part: ElementPart) -> list[Suggestion]:
        """Return suggestions for a part of an element."""
        if part.choices:
            return [Suggestion(choice) for choice in part.choices]
        match part.kind:
            case elements.INPUT_FIELD:
                return _suggest_fields(
                    schema for schema in self.inputs.values() if schema is not None
                )
            case elements.OUTPUT_FIELD:
                return _suggest_fields([self.output] if self.output is not None else [])
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
        """Return suggestions for the name of a macro: arguments first, then preferences, keys and
        functions.
        """
        found = {name: f"argument: {value}" for name, value in self.arguments.items()}
        for name, value in self.preferences.items():
            found.setdefault(name, f"preference: {value}")
        found |= {f"secure({key})": "secure key" for key in self.secure_keys}
        found |= {f"conn({name})": "connection" for name in self.connections}
        found |= FUNCTIONS
        return [Suggestion(name, hint) for name, hint in found.items()]


def _suggest_fields(schemas: Iterable[Schema]) -> list[Suggestion]:
    found: dict[str, str] = {}
    for schema in schemas:
        for field in schema:
            found.setdefault(field.name, field.schema.display_name)
    return [Suggestion(name, type) for name, type in found.items()]
