"""What configuring one stage gave."""

from __future__ import annotations

import msgspec

from localcdap.api.failures import UNKNOWN_PROPERTY, Cause, ValidationFailure
from localcdap.api.schema import Schema
from localcdap.artifacts.model import PluginRef
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.rules.plugin_types import ACTIONS, CONDITION, SINKS, SOURCES
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult
from localcdap.text import nearest_names


class ConfiguredStage(msgspec.Struct):
    """A configured stage. Unlike in its result, the schemas here are those that leave the stage."""

    stage: StageUse
    failures: list[ValidationFailure]
    request: ConfigureRequest | None = None
    """None when the plugin was not found."""
    result: ConfigureResult = msgspec.field(default_factory=lambda: ConfigureResult([]))
    input_schemas: dict[str, Schema | None] = {}
    """By input stage, in connection order."""
    output_schema: Schema | None = None
    error_schema: Schema | None = None
    port_schemas: dict[str, Schema] = {}
    declared: frozenset[str] = frozenset()
    """Names of the properties that the plugin has."""
    is_checking: bool = False
    """Whether the plugin has still to answer; the result is then that of the stage before, if any."""
    is_broken: bool = False
    """Whether it failed by no fault of another: what it does not tell is unknown because of it."""
    is_tainted: bool = False
    """Whether an input is unknown because of a broken stage, however far before."""
    forwarded: list[str] = []
    """Of a condition: the broken stages before it, which make unknown what it passes on."""

    def set_output_schemas(self, common: Schema | None) -> None:
        """Set the schemas that leave the stage, from its result and the schema common to its inputs.

        A condition forwards its input; a sink and an action have no output; errors have the input's
        schema unless the plugin sets another.
        """
        type, result = self.stage.plugin.type, self.result
        if type in ACTIONS:
            return
        if type == CONDITION:
            self.output_schema = common
            return
        self.error_schema = result.error_schema or (None if type in SOURCES else common)
        if type not in SINKS:
            self.port_schemas = result.port_schemas
            self.output_schema = None if self.port_schemas else result.output_schema

    def get_propagated(self) -> tuple[object, ...]:
        """Everything of it that matters to the stages behind it."""
        type = self.stage.plugin.type
        flags = (self.is_broken, self.is_tainted, tuple(self.forwarded))
        return type, self.output_schema, self.error_schema, self.port_schemas, flags

    @property
    def plugin(self) -> PluginRef | None:
        return self.request.plugin if self.request else None


def find_warnings(outcome: ConfiguredStage) -> list[ValidationFailure]:
    """Return what the plugin warns of, and a warning for each property that it does not have; an empty one is of
    no interest.

    CDAP ignores them without a word, so that a misspelt optional property goes unnoticed.
    """
    if outcome.plugin is None:
        return []
    told = outcome.result.warnings
    given = outcome.stage.plugin.properties
    unknown = [name for name, value in given.items() if value and name not in outcome.declared]
    return [*told, *(_create_warning(name, outcome) for name in unknown)]


def _create_warning(name: str, outcome: ConfiguredStage) -> ValidationFailure:
    free = outcome.declared - outcome.stage.plugin.properties.keys()
    near = nearest_names(name, free, limit=5)
    if near:
        action = f"Did you mean '{near[0]}'?"
    else:
        action = "Remove it, unless it is meant for another version of the plugin."
    return ValidationFailure(
        UNKNOWN_PROPERTY,
        f"Plugin '{outcome.stage.plugin.name}' has no property '{name}'; it is ignored.",
        action,
        [Cause({"stageConfig": name})],
        stage=outcome.stage.name,
        field=name,
    )
