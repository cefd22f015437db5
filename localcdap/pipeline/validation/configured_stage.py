"""A configured stage: its failures, warnings and schemas."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from localcdap.api.config import PluginProperty
from localcdap.api.failures import ValidationFailure
from localcdap.api.schema import Schema
from localcdap.artifacts.model import PluginRef
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.rules.plugin_types import ACTIONS, CONDITION, SINKS, SOURCES
from localcdap.pipeline.validation.property_names import find_name_warnings
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult


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
    declared: Mapping[str, PluginProperty] = {}
    """The properties that the plugin has, by name."""
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
    """Return the plugin's own warnings, those about names of properties, and those about expectations."""
    if outcome.plugin is None:
        return []
    names = find_name_warnings(outcome.stage, outcome.declared)
    return [*outcome.result.warnings, *names, *outcome.rule_warnings]
