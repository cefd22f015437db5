"""Configuring every stage of a pipeline in order, and carrying schemas from stage to stage."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.api.failures import FailureCollector, ValidationFailure
from localcdap.api.locations import Locations
from localcdap.api.schema import Schema
from localcdap.artifacts.model import PluginRef
from localcdap.sandbox.configuring import ConfigureRequest, ConfigureResult
from localcdap.studio.evaluation import MacroContext, evaluate
from localcdap.studio.flow import Flow
from localcdap.studio.model import StageUse
from localcdap.studio.outcome import Outcome
from localcdap.studio.plugins import PluginFinder, Repair, not_found, repair_of
from localcdap.studio.structure import Structure


class Configurer(Protocol):
    """Configures one stage. Equal requests have equal results, unless they are connected."""

    def __call__(self, request: ConfigureRequest, /) -> ConfigureResult: ...


class StageConfiguration:
    """Finds the plugin of a stage, evaluates its properties and configures it.

    :param use_suggested: take the suggested artifact where the one asked for is missing, and note the
        repair instead of a failure.
    :param locations: where paths lie; given, the checks that need files, databases or a network are
        made too.
    :param later: stages that come after an action which has not run yet: it may give macros their values
        and make the files that they look for.
    """

    def __init__(
        self,
        finder: PluginFinder,
        configurer: Configurer,
        macros: MacroContext,
        *,
        use_suggested: bool = False,
        locations: Locations | None = None,
        later: Collection[str] = (),
    ) -> None:
        self._finder = finder
        self._configurer = configurer
        self._macros = macros
        self._use_suggested = use_suggested
        self._locations = locations
        self._later = later
        self.repairs: list[Repair] = []

    def __call__(
        self, stage: StageUse, inputs: Mapping[str, Schema | None], ports: list[str] | None = None
    ) -> Outcome:
        """The outcome of one stage, its failures included; never raises for what a user wrote."""
        plugin, failures = self._plugin(stage)
        outcome = Outcome(stage, failures, inputs=dict(inputs))
        if plugin is None:
            return outcome
        is_later = stage.name in self._later
        macros = self._macros.before_runtime() if is_later else self._macros
        try:
            declared = self._finder.properties(plugin)
            outcome.declared = frozenset(declared)
            evaluated = evaluate(stage, declared, macros)
            failures += evaluated.failures
            outcome.request = ConfigureRequest(
                plugin=plugin,
                stage=stage.name,
                properties=evaluated.properties,
                macros=evaluated.macros,
                input_schemas=outcome.inputs,
                output_ports=ports or [],
                locations=None if is_later else self._locations,
            )
            outcome.result = self._configurer(outcome.request)
        except LocalcdapError as error:
            outcome.result = ConfigureResult(_failures_of(stage.name, error))
        failures += outcome.result.failures
        return outcome

    def _plugin(self, stage: StageUse) -> tuple[PluginRef | None, list[ValidationFailure]]:
        try:
            lookup = self._finder.find(stage.name, stage.plugin)
        except BadRequestError as error:
            anything = msgspec.structs.replace(stage.plugin, artifact=None)
            lookup = self._finder.find(stage.name, anything)
            return lookup.plugin, _failures_of(stage.name, error)
        if lookup.plugin is not None:
            return lookup.plugin, []
        if lookup.suggested is not None and self._use_suggested:
            self.repairs.append(repair_of(stage, lookup.suggested))
            return lookup.suggested, []
        # With the suggested plugin the stages behind this one can be checked all the same.
        return lookup.suggested, [not_found(stage, lookup)]


def _failures_of(stage: str, error: LocalcdapError) -> list[ValidationFailure]:
    collector = FailureCollector(stage)
    collector.add(error.message, error.corrective_action)
    return list(collector)


class Propagation:
    """Configures the stages of a pipeline, each once and after its inputs."""

    def __init__(self, structure: Structure, configure: StageConfiguration) -> None:
        self._structure = structure
        self._configure = configure
        self.outcomes: dict[str, Outcome] = {}
        """By stage, in topological order."""
        self.failures: list[ValidationFailure] = []
        """Of all stages, in topological order, those of further stages of the same name last."""

    def run(self) -> None:
        structure = self._structure
        first: dict[str, StageUse] = {}
        for stage in structure.document.stages:
            first.setdefault(stage.name, stage)
        flow = Flow(structure, self.outcomes)
        for name in structure.graph.order():
            self._stage(first[name], flow)
        for stage in structure.document.stages:
            if stage is not first[stage.name] and stage.plugin.name and stage.plugin.type:
                inputs = dict.fromkeys(structure.graph.inputs[stage.name])
                self.failures += self._configure(stage, inputs).failures

    def _stage(self, stage: StageUse, flow: Flow) -> None:
        incoming = flow.into(stage.name)
        if stage.name in self._structure.unknown or not stage.plugin.name:
            outcome = Outcome(stage, [], inputs=incoming.schemas)  # its failure is structural
            flow.broken(stage.name)
        else:
            connections = self._structure.graph.outgoing[stage.name]
            ports = list(dict.fromkeys(c.port for c in connections if c.port is not None))
            outcome = self._configure(stage, incoming.schemas, ports)
            if outcome.failures:
                flow.broken(stage.name)
        self.outcomes[stage.name] = outcome
        outcome.settle(incoming.common)
        outcome.failures += incoming.failures
        self.failures += outcome.failures
