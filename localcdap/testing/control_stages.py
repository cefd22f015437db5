"""Runs actions, post actions and conditions outside of a pipeline run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

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
