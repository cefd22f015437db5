"""Configures a stage: finds its plugin, evaluates its properties and runs its ``configure``.

A configured stage has failures, warnings and schemas. Warnings about the names of properties concern unknown
ones, and those that Data Fusion ignores.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Protocol

import msgspec

from localcdap.api.config import PluginProperty
from localcdap.api.errors import BadRequestError, LocalcdapError, SchemaError, StageError
from localcdap.api.failures import (
    ADDED_PROPERTY,
    UNKNOWN_PROPERTY,
    Cause,
    FailureCollector,
    ValidationFailure,
)
from localcdap.api.locations import Locations
from localcdap.api.schema import Schema
from localcdap.artifacts.model import PluginRef
from localcdap.expectations.schema_checks import unite_error_schemas
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.macros.evaluation import MacroContext, evaluate
from localcdap.pipeline.rules.graph import ACTIONS, CONDITION, SINKS, SOURCES
from localcdap.pipeline.validation.plugins import (
    PluginFinder,
    Repair,
    add_used_plugins,
    create_not_found_failure,
    create_repair,
    list_shared_properties,
)
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
    own_error_schema: Schema | None = None
    """That of the error records which the plugin emits."""
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

        A condition forwards its input; a sink and an action have no output. The plugin's errors have the
        input's schema unless it sets another; records that violate a rule may add fields.
        """
        type, result = self.stage.plugin.type, self.result
        if type in ACTIONS:
            return
        if type == CONDITION:
            self.output_schema = common
            return
        if type not in SINKS:
            self.port_schemas = result.port_schemas
            self.output_schema = None if self.port_schemas else result.output_schema
        self.own_error_schema = result.error_schema or (None if type in SOURCES else common)
        self.error_schema = unite_error_schemas(
            self.own_error_schema, self.output_schema, self.stage.expectations
        )

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


class Configurer(Protocol):
    """Configures one stage. Equal requests have equal results, unless they are connected."""

    def __call__(self, request: ConfigureRequest, /) -> ConfigureResult | None:
        """None while the plugin has not answered yet."""


class StagePosition(msgspec.Struct, frozen=True):
    """What a plugin may know of the pipeline around its stage."""

    output_ports: list[str] = []
    """The connected ports of a splitter."""
    wants_errors: bool | None = None
    """Whether an error transform takes the error records; None when that is not known."""
    earlier_stages: frozenset[str] | None = None
    """The stages before a condition, which its expression may name; None when they are not known."""


_UNKNOWN_POSITION: Final = StagePosition()


class StageConfiguration:
    """Finds the plugin of a stage, evaluates its properties and configures it.

    :param use_suggested: take the suggested artifact where the requested one is missing, and add a repair
        instead of a failure.
    :param locations: maps paths to files; if given, the checks that need files, databases or a network are
        made too.
    :param path_locations: maps foreign paths by the settings; if given, a path that must exist on this
        machine and does not is a failure.
    :param pending: stages after an action that has not run yet, which may set their macros and create the
        files that they check.
    :param pipeline_version: see :attr:`localcdap.api.stage.StageConfigurer.pipeline_version`.
    """

    def __init__(
        self,
        finder: PluginFinder,
        configurer: Configurer,
        macros: MacroContext,
        *,
        use_suggested: bool = False,
        locations: Locations | None = None,
        path_locations: Locations | None = None,
        pending: Collection[str] = (),
        pipeline_version: str | None = None,
    ) -> None:
        self._finder = finder
        self._configurer = configurer
        self._macros = macros
        self._use_suggested = use_suggested
        self._locations = locations
        self.path_locations = path_locations
        self._pending = pending
        self._pipeline_version = pipeline_version
        self.repairs: list[Repair] = []

    def __call__(
        self,
        stage: StageUse,
        inputs: Mapping[str, Schema | None],
        position: StagePosition = _UNKNOWN_POSITION,
    ) -> ConfiguredStage:
        """Configure one stage. Never raises for what a user wrote: it becomes a failure of the stage."""
        plugin, failures = self._find_plugin(stage)
        outcome = ConfiguredStage(stage, failures, input_schemas=dict(inputs))
        if plugin is None:
            outcome.result = ConfigureResult([], guess_schema(stage))
            return outcome
        is_later = stage.name in self._pending
        macros = self._macros.without_runtime() if is_later else self._macros
        try:
            declared = self._finder.properties(plugin)
            outcome.declared = declared
            evaluated = evaluate(stage, declared, macros)
            used = add_used_plugins(
                plugin,
                stage.name,
                declared,
                evaluated.properties,
                self._finder,
                stage.plugin.uses,
            )
            shared = list_shared_properties(declared, used, self._finder)
            if shared:
                declared = shared | dict(declared)
                outcome.declared = declared
                evaluated = evaluate(stage, declared, macros)
            failures += evaluated.failures
            outcome.request = ConfigureRequest(
                plugin=used,
                stage=stage.name,
                properties=evaluated.properties,
                macros=evaluated.macros,
                input_schemas=outcome.input_schemas,
                output_ports=position.output_ports,
                locations=None if is_later else self._locations,
                pipeline_version=self._pipeline_version,
                wants_errors=position.wants_errors,
                earlier_stages=position.earlier_stages,
            )
            result = self._configurer(outcome.request)
            outcome.is_checking = result is None
            outcome.result = result or outcome.result
        except LocalcdapError as error:
            outcome.result = ConfigureResult(_create_failures(stage.name, error))
        failures += outcome.result.failures
        failures += self._check_foreign_paths(stage.name, outcome.result.foreign_paths)
        return outcome

    def _check_foreign_paths(
        self, stage: str, paths: Mapping[str, list[str]]
    ) -> list[ValidationFailure]:
        """Return a failure for each path that must exist on this machine and does not."""
        collector = FailureCollector(stage)
        if self.path_locations is None:
            return []
        for name, path in ((name, path) for name, given in paths.items() for path in given):
            try:
                self.path_locations.resolve(path)
            except StageError as error:
                collector.add(error.message, error.corrective_action).with_config_property(name)
        return list(collector)

    def _find_plugin(self, stage: StageUse) -> tuple[PluginRef | None, list[ValidationFailure]]:
        try:
            lookup = self._finder.find(stage.name, stage.plugin)
        except BadRequestError as error:
            anything = msgspec.structs.replace(stage.plugin, artifact=None)
            lookup = self._finder.find(stage.name, anything)
            return lookup.plugin, _create_failures(stage.name, error)
        if lookup.plugin is not None:
            return lookup.plugin, []
        if lookup.suggested is not None and self._use_suggested:
            self.repairs.append(create_repair(stage, lookup.suggested))
            return lookup.suggested, []
        # With the suggested plugin the stages downstream can be checked.
        return lookup.suggested, [create_not_found_failure(stage, lookup)]


def guess_schema(stage: StageUse) -> Schema | None:
    """Return the likely output schema of a stage whose plugin is missing, so that stages downstream can be
    checked: its property ``schema``, else the schema that CDAP's studio stored.
    """
    for text in (stage.plugin.properties.get("schema"), stage.noted_schema):
        with contextlib.suppress(SchemaError):
            if text:
                return Schema.parse_record(text)
    return None


def _create_failures(stage: str, error: LocalcdapError) -> list[ValidationFailure]:
    collector = FailureCollector(stage)
    collector.add(error.message, error.corrective_action)
    return list(collector)
