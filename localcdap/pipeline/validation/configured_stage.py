"""A configured stage: its failures, warnings and schemas."""

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
    """A configured stage. Its schemas are those of the records that leave it, unlike those in ``result``."""

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
    """Whether the plugin has not answered yet; the result is then the previous one, if any."""
    is_broken: bool = False
    """Whether the stage itself failed, so that its unknown schemas are its own fault."""
    is_tainted: bool = False
    """Whether an input schema is unknown because of a broken stage anywhere upstream."""
    forwarded: list[str] = []
    """The broken upstream stages that make the output of a condition unknown."""
    rule_warnings: list[ValidationFailure] = []
    """The warnings about expectations."""

    def set_output_schemas(self, common: Schema | None) -> None:
        """Set the output schemas from the result and the schema common to all inputs.

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
        """Return everything that the configuration of downstream stages depends on."""
        type = self.stage.plugin.type
        flags = (self.is_broken, self.is_tainted, tuple(self.forwarded))
        return type, self.output_schema, self.error_schema, self.port_schemas, flags

    @property
    def plugin(self) -> PluginRef | None:
        return self.request.plugin if self.request else None


def find_warnings(outcome: ConfiguredStage) -> list[ValidationFailure]:
    """Return the plugin's own warnings, and one for each non-empty property that it does not declare.

    CDAP ignores undeclared properties silently, so that a misspelt optional property goes unnoticed.
    """
    if outcome.plugin is None:
        return []
    told = outcome.result.warnings
    given = outcome.stage.plugin.properties
    unknown = [name for name, value in given.items() if value and name not in outcome.declared]
    unknown_properties = [_create_warning(name, outcome) for name in unknown]
    return [*told, *unknown_properties, *outcome.rule_warnings]


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
