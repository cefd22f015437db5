"""Actions, conditions, post actions and alert publishers, which run in the run's own process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from localcdap.api.control import (
    Action,
    Alert,
    AlertPublisher,
    Condition,
    PostAction,
    SparkProgram,
    StageStatistics,
)
from localcdap.api.errors import LocalcdapError, StageError
from localcdap.api.tables import CreatedTable, TableResult
from localcdap.engine.host_client import execute_statements
from localcdap.engine.messages.flow import Stage
from localcdap.engine.messages.host import StatementBatch
from localcdap.engine.messages.spool import RecordCounts
from localcdap.engine.plan.contexts import DriverContext, RunContext, TableUse
from localcdap.engine.plan.error_attribution import stage_scope
from localcdap.engine.plan.preparation import get_plugin


class ControlStages:
    """Runs the control stages of a run.

    :param arguments: of the run; actions change them.
    """

    def __init__(self, run: RunContext, pipeline: str, arguments: dict[str, str]) -> None:
        self._run: Final = run
        self._pipeline: Final = pipeline
        self._arguments: Final = arguments

    def decide(self, stage: Stage, counts: Mapping[str, RecordCounts]) -> bool:
        """Evaluate a condition.

        :raises StageError: when it fails.
        """
        with stage_scope(stage.name):
            plugin = get_plugin(self._run, stage)
            if not isinstance(plugin, Condition):
                raise _create_type_error(stage)
            return bool(plugin.decide(self._create_context(stage, counts)))

    def run_action(self, stage: Stage, counts: Mapping[str, RecordCounts]) -> None:
        """Run an action or a Spark program.

        :raises StageError: when it fails.
        """
        with stage_scope(stage.name):
            plugin = get_plugin(self._run, stage)
            if not isinstance(plugin, Action | SparkProgram):
                raise _create_type_error(stage)
            plugin.run(self._create_context(stage, counts))

    def run_post_action(
        self, stage: Stage, counts: Mapping[str, RecordCounts], *, succeeded: bool
    ) -> bool:
        """Run a post action if its run condition allows it; return whether it does.

        :raises StageError: when it fails.
        """
        with stage_scope(stage.name):
            plugin = get_plugin(self._run, stage)
            if not isinstance(plugin, PostAction):
                raise _create_type_error(stage)
            if not plugin.should_run(succeeded):
                return False
            context = self._create_context(stage, counts)
            context.succeeded = succeeded
            plugin.run(context)
            return True

    def publish_alerts(
        self, stage: Stage, alerts: Iterator[Alert], counts: Mapping[str, RecordCounts]
    ) -> None:
        """Have an alert publisher publish alerts.

        :raises StageError: when it fails.
        """
        with stage_scope(stage.name):
            plugin = get_plugin(self._run, stage)
            if not isinstance(plugin, AlertPublisher):
                raise _create_type_error(stage)
            try:
                plugin.initialize(self._create_context(stage, counts))
                plugin.publish(alerts)
            finally:
                plugin.destroy()

    def _create_context(
        self, stage: Stage, counts: Mapping[str, RecordCounts]
    ) -> DriverControlContext:
        return DriverControlContext(
            stage, self._run, self._pipeline, counts, self._arguments.__setitem__
        )


class DriverControlContext(DriverContext):
    """A :class:`localcdap.api.control.PostActionContext` and a :class:`localcdap.api.control.AlertContext`,
    which has what every control stage needs.
    """

    def __init__(
        self,
        stage: Stage,
        run: RunContext,
        pipeline: str,
        counts: Mapping[str, RecordCounts],
        set_argument: Callable[[str, str], None],
    ) -> None:
        super().__init__(stage, run)
        self.pipeline = pipeline
        self.stage_statistics: Mapping[str, StageStatistics] = {
            name: StageStatistics(c.in_, c.out, c.error) for name, c in counts.items()
        }
        self.succeeded = False
        self._set_argument: Final = set_argument
        self._host_directory: Final = run.host_directory

    def set_argument(self, name: str, value: str) -> None:
        """Set an argument of the run for the stages that follow."""
        self._set_argument(name, value)
        self.arguments = {**self.arguments, name: value}

    def run_sql(
        self,
        statements: Sequence[str],
        changes: Sequence[str] = (),
        makes: Sequence[CreatedTable] = (),
    ) -> TableResult:
        """Execute SQL statements on the tables of the namespace."""
        batch = StatementBatch(self.namespace, list(statements), list(changes), list(makes))
        try:
            result, reads = execute_statements(self._host_directory, batch)
        except LocalcdapError as error:
            raise self.fail(error.message, error.corrective_action) from None
        for name in reads:
            self._run.note_table(self.stage_name, TableUse.READ, name)
        for name in changes:
            self._run.note_table(self.stage_name, TableUse.CHANGE, name)
        return result


def _create_type_error(stage: Stage) -> StageError:
    return StageError(
        f"Stage '{stage.name}': plugin '{stage.plugin.name}' cannot be run as {stage.type}.",
        "Check with the plugin developer to make sure it is implemented correctly.",
        stage=stage.name,
    )
