"""Runs actions, post actions, conditions and alert publishers outside of a pipeline run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from localcdap.api.alerts import Alert, AlertPublisher
from localcdap.api.app.transactions import TransactionRunner
from localcdap.api.control import Action, Condition, PostAction, StageStatistics
from localcdap.api.errors import BadRequestError, StageError
from localcdap.api.locations import Locations
from localcdap.api.plugin import Plugin
from localcdap.api.tables import CreatedTable, Lookup, TableResult
from localcdap.engine.messages.flow import Stage, create_plugin
from localcdap.engine.tasks.context import CountingMetrics, WorkerStageContext
from localcdap.testing.records import (
    FakePreparationContext,
    GivenMetadata,
    StageOutput,
    build_stage_data,
)

Statistics = Mapping[str, StageStatistics]
GivenTopics: TypeAlias = dict[str, list[Any]]
"""The messages of topics: those of the run's namespace by name, others by ``namespace:name``."""


class FakeControlContext(WorkerStageContext):
    """A :class:`localcdap.api.control.PostActionContext`, which fits every control stage."""

    def __init__(
        self,
        stage: Stage,
        arguments: dict[str, str],
        locations: Locations,
        statistics: Statistics,
        metadata: GivenMetadata,
        *,
        succeeded: bool = True,
        topics: GivenTopics | None = None,
    ) -> None:
        super().__init__(build_stage_data(stage, arguments))
        self.pipeline = "test"
        self.stage_statistics: Statistics = dict(statistics)
        self.succeeded = succeeded
        self.is_remote = False
        self.output: Final = StageOutput()
        self.preparation: Final = FakePreparationContext(
            build_stage_data(stage, arguments), metadata, self.output
        )
        self._locations: Final = locations
        self._topics: Final = topics
        self.metrics = self.counting = CountingMetrics()

    @property
    def transactions(self) -> TransactionRunner:
        raise self.fail(
            "there are no datasets here.",
            "Run its pipeline in an instance: with the fixture cdap_instance.",
        )

    def resolve_path(self, path: str) -> str:
        return self._locations.resolve(path)

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        text = f"Stage '{self.stage_name}': {message}"
        return StageError(text, corrective_action, stage=self.stage_name)

    def set_argument(self, name: str, value: str) -> None:
        self.output.arguments[name] = value
        self.arguments = {**self.arguments, name: value}

    def lookup(self, table: str) -> Lookup:
        raise self.fail(
            f"lookups in table '{table}' are not available here.",
            "Run its pipeline in an instance: with the fixture cdap_instance.",
        )

    def run_sql(
        self,
        statements: Sequence[str],
        changes: Sequence[str] = (),
        makes: Sequence[CreatedTable] = (),
    ) -> TableResult:
        raise self.fail(
            f"there are no tables here for {len(statements)} statements.",
            "Run its pipeline in an instance: with the fixture cdap_instance.",
        )

    def has_topic(self, name: str, namespace: str | None = None) -> bool:
        return self._get_key(name, namespace) in self._get_topics()

    def create_topic(self, name: str) -> None:
        self._get_topics().setdefault(name, [])

    def publish_messages(
        self, topic: str, payloads: Sequence[Any], namespace: str | None = None
    ) -> None:
        key, topics = self._get_key(topic, namespace), self._get_topics()
        if key not in topics:
            raise self.fail(f"there is no topic '{key}'.", "Create it.")
        topics[key] += [msgspec.to_builtins(payload) for payload in payloads]

    def _get_key(self, name: str, namespace: str | None) -> str:
        return name if namespace in (None, self.namespace) else f"{namespace}:{name}"

    def _get_topics(self) -> GivenTopics:
        if self._topics is None:
            raise self.fail("there are no topics here.", "Give them as 'topics'.")
        return self._topics


def publish(
    cls: type[Plugin], stage: Stage, context: FakeControlContext, alerts: Iterable[Alert]
) -> StageOutput:
    """Have an alert publisher publish alerts."""
    plugin = create_plugin(cls, stage.name, stage.properties)
    if not isinstance(plugin, AlertPublisher):
        raise BadRequestError(f"{cls.__name__} is not an alert publisher.", "Use 'run', or 'act'.")
    plugin.prepare_run(context.preparation)
    try:
        plugin.initialize(context)
        plugin.publish(iter(alerts))
    finally:
        plugin.destroy()
    context.output.metrics = dict(context.counting.counts)
    return context.output


def act(cls: type[Plugin], stage: Stage, context: FakeControlContext) -> StageOutput:
    """Run an action, or a post action when its run condition is met."""
    plugin = create_plugin(cls, stage.name, stage.properties)
    plugin.prepare_run(context.preparation)
    if isinstance(plugin, Action) or (
        isinstance(plugin, PostAction) and plugin.should_run(context.succeeded)
    ):
        plugin.run(context)
    elif not isinstance(plugin, PostAction):
        raise BadRequestError(f"{cls.__name__} is not an action.", "Use 'run', or 'decide'.")
    context.output.metrics = dict(context.counting.counts)
    return context.output


def decide(cls: type[Plugin], stage: Stage, context: FakeControlContext) -> bool:
    """Return which branch a condition selects."""
    plugin = create_plugin(cls, stage.name, stage.properties)
    if not isinstance(plugin, Condition):
        raise BadRequestError(f"{cls.__name__} is not a condition.", "Use 'run', or 'act'.")
    plugin.prepare_run(context.preparation)
    return bool(plugin.decide(context))
