"""Configures a stage: finds its plugin, evaluates its properties and runs its ``configure``."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from typing import Final, Protocol

import msgspec

from localcdap.api.errors import BadRequestError, LocalcdapError, SchemaError, StageError
from localcdap.api.failures import FailureCollector, ValidationFailure
from localcdap.api.locations import Locations
from localcdap.api.schema import Schema
from localcdap.artifacts.model import PluginRef
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.macros.evaluation import MacroContext, evaluate
from localcdap.pipeline.validation.configured_stage import ConfiguredStage
from localcdap.pipeline.validation.plugins import (
    PluginFinder,
    add_used_plugins,
    create_not_found_failure,
    list_shared_properties,
)
from localcdap.pipeline.validation.repairs import Repair, create_repair
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult


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
        self._path_locations = path_locations
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
        if self._path_locations is None:
            return []
        for name, path in ((name, path) for name, given in paths.items() for path in given):
            try:
                self._path_locations.resolve(path)
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
