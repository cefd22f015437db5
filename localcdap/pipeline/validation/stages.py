"""Configuring every stage of a pipeline in order, and carrying schemas from stage to stage."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from typing import Final, Protocol

import msgspec

from localcdap.api.errors import BadRequestError, LocalcdapError, SchemaError, StageError
from localcdap.api.failures import FailureCollector, ValidationFailure
from localcdap.api.locations import Locations
from localcdap.api.pipeline import Connection
from localcdap.api.schema import Schema
from localcdap.artifacts.model import PluginRef
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.macros.evaluation import MacroContext, evaluate
from localcdap.pipeline.rules.structure import Structure
from localcdap.pipeline.validation.flow import Flow, Incoming
from localcdap.pipeline.validation.outcome import Outcome
from localcdap.pipeline.validation.plugins import PluginFinder, Repair, not_found, repair_of
from localcdap.pipeline.validation.used_plugins import add_used_plugins
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult


class Configurer(Protocol):
    """Configures one stage. Equal requests have equal results, unless they are connected."""

    def __call__(self, request: ConfigureRequest, /) -> ConfigureResult | None:
        """None while the plugin has not answered yet."""


class StageConfiguration:
    """Finds the plugin of a stage, evaluates its properties and configures it.

    :param use_suggested: take the suggested artifact where the one asked for is missing, and note the
        repair instead of a failure.
    :param locations: where paths lie; given, the checks that need files, databases or a network are
        made too.
    :param places: where foreign paths lie by the settings; given, a path that must lie on this machine and
        does not is a failure.
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
        places: Locations | None = None,
        later: Collection[str] = (),
    ) -> None:
        self._finder = finder
        self._configurer = configurer
        self._macros = macros
        self._use_suggested = use_suggested
        self._locations = locations
        self._places = places
        self._later = later
        self.repairs: list[Repair] = []

    def __call__(
        self, stage: StageUse, inputs: Mapping[str, Schema | None], ports: list[str] | None = None
    ) -> Outcome:
        """The outcome of one stage, its failures included; never raises for what a user wrote."""
        plugin, failures = self._plugin(stage)
        outcome = Outcome(stage, failures, inputs=dict(inputs))
        if plugin is None:
            outcome.result = ConfigureResult([], _presumed_schema(stage))
            return outcome
        is_later = stage.name in self._later
        macros = self._macros.before_runtime() if is_later else self._macros
        try:
            declared = self._finder.properties(plugin)
            outcome.declared = frozenset(declared)
            evaluated = evaluate(stage, declared, macros)
            failures += evaluated.failures
            used = add_used_plugins(
                plugin, stage.name, declared, evaluated.properties, self._finder
            )
            outcome.request = ConfigureRequest(
                plugin=used,
                stage=stage.name,
                properties=evaluated.properties,
                macros=evaluated.macros,
                input_schemas=outcome.inputs,
                output_ports=ports or [],
                locations=None if is_later else self._locations,
            )
            result = self._configurer(outcome.request)
            outcome.is_checking = result is None
            outcome.result = result or outcome.result
        except LocalcdapError as error:
            outcome.result = ConfigureResult(_failures_of(stage.name, error))
        failures += outcome.result.failures
        failures += self._unplaced(stage.name, outcome.result.foreign_paths)
        return outcome

    def _unplaced(self, stage: str, paths: Mapping[str, list[str]]) -> list[ValidationFailure]:
        """A failure for each path that must lie on this machine and does not."""
        collector = FailureCollector(stage)
        if self._places is None:
            return []
        for name, path in ((name, path) for name, given in paths.items() for path in given):
            try:
                self._places.resolve(path)
            except StageError as error:
                collector.add(error.message, error.corrective_action).with_config_property(name)
        return list(collector)

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


def _presumed_schema(stage: StageUse) -> Schema | None:
    """What a stage without its plugin gives, as far as the document tells, so that those behind it can be
    checked all the same: its property ``schema``, else what CDAP's studio noted.
    """
    for text in (stage.plugin.properties.get("schema"), stage.noted_schema):
        with contextlib.suppress(SchemaError):
            if text:
                return Schema.parse_record(text)
    return None


def _failures_of(stage: str, error: LocalcdapError) -> list[ValidationFailure]:
    collector = FailureCollector(stage)
    collector.add(error.message, error.corrective_action)
    return list(collector)


class Propagation:
    """The configured stages of a pipeline. After a change of it only those that may differ are configured.

    That is: a stage that is new or has another plugin or other properties, one with other connections,
    and one behind a stage that now passes on something else.

    A stage whose plugin has not answered yet keeps what it passed on before. One that passed on nothing yet
    holds up those behind it.
    """

    def __init__(self, configure: StageConfiguration) -> None:
        self._configure = configure
        self._links: dict[str, _Links] = {}
        self.outcomes: dict[str, Outcome] = {}
        """By stage, in topological order."""
        self.further: list[Outcome] = []
        """Of further stages with a name that another one has."""
        self.late: set[str] = set()
        """Stages whose plugins take so long that those behind them go on without."""

    @property
    def failures(self) -> list[ValidationFailure]:
        """Of all stages, in topological order, those of further stages of the same name last."""
        return [f for outcome in (*self.outcomes.values(), *self.further) for f in outcome.failures]

    def reset(self, configure: StageConfiguration) -> None:
        """Configure every stage anew the next time, in another way."""
        self._configure = configure
        self._links.clear()

    def forget(self, stage: str) -> None:
        """Configure one stage anew the next time."""
        self._links.pop(stage, None)

    def update(self, structure: Structure) -> None:
        """Configure the stages, each once and after its inputs."""
        former, links = self.outcomes, self._links
        if structure.knots:
            links = {}  # on a cycle, what a stage is given follows from the order too
        self.outcomes, self._links, moved = {}, {}, set[str]()
        flow = Flow(structure, self.outcomes)
        for name in structure.order:
            stage, before = structure.stages[name], former.get(name)
            self._links[name] = now = _links(structure, name)
            is_same = before is not None and _is_same(before, stage) and links.get(name) == now
            if before is not None and is_same and moved.isdisjoint(structure.graph.inputs[name]):
                self.outcomes[name] = before
                continue
            outcome = self._stage(stage, structure, flow.into(name), before)
            self.outcomes[name] = outcome
            if before is None or before.passes_on() != outcome.passes_on():
                moved.add(name)
        self.further = [
            self._configure(stage, dict.fromkeys(structure.graph.inputs[stage.name]))
            for stage in structure.further
            if stage.plugin.name and stage.plugin.type
        ]

    def _stage(
        self, stage: StageUse, structure: Structure, incoming: Incoming, before: Outcome | None
    ) -> Outcome:
        name = stage.name
        is_known = name not in structure.unknown and bool(stage.plugin.name)
        if not is_known:
            outcome = Outcome(stage, [], inputs=incoming.schemas)  # its failure is structural
        elif any(self._holds_up(each) for each in incoming.schemas):
            outcome = Outcome(stage, [], inputs=incoming.schemas, is_checking=True)
        else:
            ports = [c.port for c in structure.graph.outgoing[name] if c.port is not None]
            outcome = self._configure(stage, incoming.schemas, list(dict.fromkeys(ports)))
        if outcome.is_checking and before is not None and _is_same_plugin(before, stage):
            outcome.result = before.result
            outcome.failures += before.result.failures
        outcome.is_tainted = incoming.is_tainted
        outcome.is_broken = not incoming.is_tainted and bool(outcome.failures or not is_known)
        outcome.forwarded = incoming.forwarded
        outcome.settle(incoming.common)
        outcome.failures += incoming.failures
        return outcome

    def _holds_up(self, stage: str) -> bool:
        """Whether nothing is known yet of what a stage passes on."""
        outcome = self.outcomes.get(stage)
        if outcome is None or stage in self.late:
            return False
        return outcome.is_checking and outcome.result == _NOTHING


_NOTHING: Final = ConfigureResult([])
_Links = tuple[list[Connection], list[Connection]]


def _links(structure: Structure, stage: str) -> _Links:
    return structure.graph.incoming[stage], structure.graph.outgoing[stage]


def _is_same(outcome: Outcome, stage: StageUse) -> bool:
    return outcome.stage.plugin == stage.plugin and not outcome.is_checking


def _is_same_plugin(outcome: Outcome, stage: StageUse) -> bool:
    before, now = outcome.stage.plugin, stage.plugin
    return (before.type, before.name) == (now.type, now.name)
