"""A configured stage: its failures, warnings and schemas.

Warnings about the names of properties: unknown ones, and those that Data Fusion ignores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from localcdap.api.config import PluginProperty
from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ADDED_PROPERTY, UNKNOWN_PROPERTY, Cause, ValidationFailure
from localcdap.api.schema import Schema
from localcdap.artifacts.model import PluginRef
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.rules.plugin_types import ACTIONS, CONDITION, SINKS, SOURCES
from localcdap.pipeline.validation.plugins import PluginFinder
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult
from localcdap.text import nearest_names


def find_name_warnings(
    stage: StageUse, declared: Mapping[str, PluginProperty]
) -> list[ValidationFailure]:
    """Return the warnings about the names of the properties that a stage sets.

    CDAP ignores undeclared properties silently, so that a misspelt optional property goes unnoticed. A
    property with an empty value gets no warning.

    :param declared: the properties of the plugin by name.
    """
    ignored = list(_find_ignored(stage, declared))
    names = declared.keys() | {warning.field for warning in ignored}
    unknown = [
        name for name, value in stage.plugin.properties.items() if value and name not in names
    ]
    return [*(_create_unknown_name_warning(stage, name, declared) for name in unknown), *ignored]


def find_ignored_properties(
    stages: Iterable[StageUse], finder: PluginFinder
) -> list[ValidationFailure]:
    """Return the warnings about properties that have an effect here and that Data Fusion ignores.

    No code of plugins runs. A stage whose plugin is not installed has no warnings.
    """
    warnings: list[ValidationFailure] = []
    for stage in stages:
        try:
            plugin = finder.find(stage.name, stage.plugin).plugin
        except BadRequestError:  # an invalid artifact, which validation reports
            continue
        if plugin is not None:
            warnings += _find_ignored(stage, finder.properties(plugin))
    return warnings


def _find_ignored(
    stage: StageUse, declared: Mapping[str, PluginProperty]
) -> Iterator[ValidationFailure]:
    """Yield a warning for each former name, and for each addition whose value is not its default."""
    present = {
        former: name for name, info in declared.items() for former in info.former_names or ()
    }
    for name, value in stage.plugin.properties.items():
        info = declared.get(name)
        if value and info is None and name in present:
            yield _create_warning(
                stage,
                name,
                f"'{name}' is a former name of the property '{present[name]}' of plugin "
                f"'{stage.plugin.name}'. It has an effect here, and Data Fusion ignores it.",
                f"Did you mean '{present[name]}'?",
            )
        elif info is not None and info.addition and not info.is_default(value):
            yield _create_warning(
                stage,
                name,
                f"Data Fusion ignores the property '{name}': its plugin '{stage.plugin.name}' has no such "
                f"property. {info.addition}",
                "Remove it if the pipeline must do the same in Data Fusion.",
                ADDED_PROPERTY,
            )


def _create_unknown_name_warning(
    stage: StageUse, name: str, declared: Mapping[str, PluginProperty]
) -> ValidationFailure:
    near = nearest_names(name, declared.keys() - stage.plugin.properties.keys(), limit=5)
    action = "Remove it, unless it is meant for another version of the plugin."
    return _create_warning(
        stage,
        name,
        f"Plugin '{stage.plugin.name}' has no property '{name}'; it is ignored.",
        f"Did you mean '{near[0]}'?" if near else action,
    )


def _create_warning(
    stage: StageUse, name: str, message: str, action: str, type: str = UNKNOWN_PROPERTY
) -> ValidationFailure:
    cause = Cause({"stageConfig": name})
    return ValidationFailure(type, message, action, [cause], stage=stage.name, field=name)


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
