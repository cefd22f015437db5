"""Actions, conditions and post actions, carried out in the run's own process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from localcdap.api.control import Action, Condition, PostAction, StageStatistics
from localcdap.api.errors import LocalcdapError, StageError
from localcdap.api.plugin import Plugin
from localcdap.api.tables import CreatedTable, TableResult
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.driver.blame import working_on
from localcdap.engine.driver.contexts import DriverContext, Surroundings
from localcdap.engine.driver.statements import Statements, carry_out
from localcdap.engine.plan.counting import StageCounts
from localcdap.engine.plan.flow import Stage, instantiate


class Controls:
    """Carries out the control stages of a run.

    :param arguments: of the run; actions change them.
    """

    def __init__(self, around: Surroundings, pipeline: str, arguments: dict[str, str]) -> None:
        self._around: Final = around
        self._pipeline: Final = pipeline
        self._arguments: Final = arguments

    def decide(self, stage: Stage, counts: Mapping[str, StageCounts]) -> bool:
        """Which branch a condition takes.

        :raises StageError: when it cannot say.
        """
        with working_on(stage.name):
            plugin = _instance(stage)
            if not isinstance(plugin, Condition):
                raise _unfit(stage)
            return bool(plugin.decide(self._context(stage, counts)))

    def act(self, stage: Stage, counts: Mapping[str, StageCounts]) -> None:
        """Run an action.

        :raises StageError: when it fails.
        """
        with working_on(stage.name):
            plugin = _instance(stage)
            if not isinstance(plugin, Action):
                raise _unfit(stage)
            plugin.run(self._context(stage, counts))

    def finish(self, stage: Stage, counts: Mapping[str, StageCounts], *, succeeded: bool) -> bool:
        """Run a post action if its run condition asks for it. Returns whether that is so.

        :raises StageError: when it fails.
        """
        with working_on(stage.name):
            plugin = _instance(stage)
            if not isinstance(plugin, PostAction):
                raise _unfit(stage)
            if not plugin.should_run(succeeded):
                return False
            context = self._context(stage, counts)
            context.succeeded = succeeded
            plugin.run(context)
            return True

    def _context(self, stage: Stage, counts: Mapping[str, StageCounts]) -> Control:
        return Control(stage, self._around, self._pipeline, counts, self._arguments.__setitem__)


class Control(DriverContext):
    """A :class:`localcdap.api.control.PostActionContext`, and so one for every control stage."""

    def __init__(
        self,
        stage: Stage,
        around: Surroundings,
        pipeline: str,
        counts: Mapping[str, StageCounts],
        set_argument: Callable[[str, str], None],
    ) -> None:
        super().__init__(stage, around)
        self.pipeline = pipeline
        self.stage_statistics: Mapping[str, StageStatistics] = {
            name: StageStatistics(c.in_, c.out, c.error) for name, c in counts.items()
        }
        self.succeeded = False
        self._set_argument: Final = set_argument
        self._home: Final = around.home

    def set_argument(self, name: str, value: str) -> None:
        self._set_argument(name, value)
        self.arguments = {**self.arguments, name: value}

    def run_sql(
        self,
        statements: Sequence[str],
        changes: Sequence[str] = (),
        makes: Sequence[CreatedTable] = (),
    ) -> TableResult:
        asked = Statements(self.namespace, list(statements), list(changes), list(makes))
        try:
            return carry_out(self._home, asked)
        except LocalcdapError as error:
            raise self.fail(error.message, error.corrective_action) from None


def _instance(stage: Stage) -> Plugin:
    return instantiate(load_plugin(stage.plugin), stage.name, stage.properties)


def _unfit(stage: Stage) -> StageError:
    return StageError(
        f"Stage '{stage.name}': plugin '{stage.plugin.name}' cannot be run as {stage.type}.",
        "Check with the plugin developer to make sure it is implemented correctly.",
        stage=stage.name,
    )
