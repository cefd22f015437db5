"""Actions, conditions, post actions and alert publishers, which run in the run's own process.

The alerts of a run wait here from the end of the phases of their stages until they are published.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
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
from localcdap.engine.messages.spool import Alerted, RecordCounts
from localcdap.engine.plan.contexts import DriverContext, RunContext, TableUse
from localcdap.engine.plan.error_attribution import stage_scope
from localcdap.engine.plan.preparation import get_plugin
from localcdap.engine.plan.record_counter import RecordCounter
from localcdap.engine.tasks.pass_plan import StageAlert
from localcdap.engine.tasks.task_messages import read_alerts


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


_MOST_SHOWN: Final = 1_000
"""Alerts of a stage that the host keeps, to show them. All are published."""


class RunAlerts:
    """Keeps the alerts of a run; those of tasks stay in the files of the tasks.

    :param run: has the directory of the tasks' files, except on a cluster, whose tasks report the alerts
        themselves.
    """

    def __init__(self, run: RunContext) -> None:
        self._run: Final = run
        self._files: Final[Counter[str]] = Counter()
        self._given: Final[list[StageAlert]] = []
        self._counts: Final[Counter[str]] = Counter()

    def add(self, counter: RecordCounter) -> list[Alerted]:
        """Add the alerts of a phase that has ended; return the messages that show the first ones.

        :raises OSError: when a file of a task cannot be read.
        """
        if not counter.alerts and not counter.alert_files:
            return []
        shown: dict[str, list[dict[str, str | None]]] = {}
        for alert in self._read(counter.alert_files, counter.alerts):
            self._counts[alert.stage] += 1
            if self._counts[alert.stage] <= _MOST_SHOWN:
                shown.setdefault(alert.stage, []).append(alert.payload)
        self._files.update(counter.alert_files)
        self._given.extend(counter.alerts)
        return [Alerted(stage, payloads) for stage, payloads in shown.items()]

    def count(self, stages: Collection[str]) -> int:
        """Return the number of alerts of some stages."""
        return sum(self._counts[stage] for stage in stages)

    def read(self, stages: Collection[str]) -> Iterator[Alert]:
        """Yield the alerts of some stages."""
        for alert in self._read(self._files, self._given):
            if alert.stage in stages:
                yield Alert(alert.stage, alert.payload)

    def _read(self, files: Counter[str], given: list[StageAlert]) -> Iterator[StageAlert]:
        directory = self._run.message_directory
        if directory is not None:
            for name, lines in files.items():
                yield from read_alerts(Path(directory) / name, lines)
        yield from given
