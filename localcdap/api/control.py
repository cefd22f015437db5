"""Plugins that control a run and handle no records: actions, conditions and post actions."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import msgspec

from localcdap.api.config import PluginConfig, field
from localcdap.api.plugin import Plugin
from localcdap.api.stage import SparkContext, StageConfigurer, StageContext
from localcdap.api.tables import CreatedTable, TableResult
from localcdap.api.topics import TopicContext

if TYPE_CHECKING:
    from localcdap.api.app.transactions import TransactionRunner


class StageStatistics(msgspec.Struct, frozen=True):
    """The numbers of records of a completed stage."""

    input: int
    output: int
    error: int


class ControlContext(StageContext, Protocol):
    """An action or a condition at run time, in the run's own process."""

    stage_statistics: Mapping[str, StageStatistics]
    """The numbers of all earlier stages that handle records, by stage; zeros for a skipped stage."""

    is_remote: bool
    """Whether the run is on a cluster, whose files this process cannot read."""

    @property
    def transactions(self) -> TransactionRunner:
        """Runs functions as transactions on datasets of the run's namespace, such as
        ``context.transactions.run(lambda tx: tx.dataset("orders").get("a"))``.

        Those of a preview or a pipeline test are rolled back.
        """

    def resolve_path(self, path: str) -> str:
        """Return where a path of the pipeline document is on this machine, as for sources and sinks."""

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        """Return an error to raise, which names this stage."""


class ActionContext(ControlContext, Protocol):
    """An action at run time."""

    def set_argument(self, name: str, value: str) -> None:
        """Set an argument of the run, for the macros and the contexts of later stages."""

    def run_sql(
        self,
        statements: Sequence[str],
        changes: Sequence[str] = (),
        makes: Sequence[CreatedTable] = (),
    ) -> TableResult:
        """Run SQL statements on the tables of this namespace, in one transaction.

        :param statements: single statements in the SQL of DuckDB, with the names of the tables.
        :param changes: the names of all tables that the statements change, create or drop.
        :param makes: the created tables, with their partitioning; the last entry for a table takes effect.
        :raises StageError: when a statement fails, or takes over two minutes or 1 GB of memory.
        """


class PostActionContext(ActionContext, Protocol):
    """A post action at run time."""

    succeeded: bool
    """Whether the run has succeeded; the output of its sinks is then committed."""


class Action(Plugin):
    """Runs before all sources or after all sinks. An exception fails the run."""

    types = ("action",)

    def configure(self, stage: StageConfigurer) -> None:
        """Accept any input. An action has no output schema."""

    def run(self, context: ActionContext) -> None:
        """Run the action."""
        raise NotImplementedError


class SparkProgramContext(ActionContext, SparkContext, Protocol):
    """A Spark program at run time: what an action has, and the session with Spark."""


class SparkProgram(Plugin):
    """A program on Spark that runs as an action does (CDAP's plugin type ``sparkprogram``).

    It handles no records of the pipeline. What it writes is not undone when the run fails. An exception fails
    the run.
    """

    types = ("sparkprogram",)

    def configure(self, stage: StageConfigurer) -> None:
        """Accept any input. A Spark program has no output schema."""

    def run(self, context: SparkProgramContext) -> None:
        """Run the program with ``context.spark``."""
        raise NotImplementedError


class Condition(Plugin):
    """Selects one of two branches when the stages before it have completed. Records pass unchanged."""

    types = ("condition",)

    def decide(self, context: ControlContext) -> bool:
        """Return whether the branch ``true`` runs; else the branch ``false`` does."""
        raise NotImplementedError


class PostActionConfig(PluginConfig):
    """The configuration of a post action; extend it for more properties."""

    run_condition: str = field(
        "When to run: on completion (success or failure), on success, or on failure of the pipeline.",
        default="completion",
        choices=["completion", "success", "failure"],
        name="runCondition",
        macro=True,
    )


class PostAction(Plugin):
    """Runs at the end of a run. An exception is logged and does not change the status of the run."""

    types = ("postaction",)
    Config = PostActionConfig
    config: PostActionConfig

    def configure(self, stage: StageConfigurer) -> None:
        """Accept any configuration."""

    def should_run(self, succeeded: bool) -> bool:
        """Return whether the property ``runCondition`` selects this outcome."""
        wanted = "success" if succeeded else "failure"
        return self.config.run_condition in ("completion", wanted)

    def run(self, context: PostActionContext) -> None:
        """Run the action."""
        raise NotImplementedError


_Item = TypeVar("_Item")
_SECOND: Final = 1.0


class Alert(msgspec.Struct, frozen=True, rename="camel"):
    """An alert that a stage has emitted. Its JSON is ``{"stageName": …, "payload": {…}}``."""

    stage_name: str
    payload: dict[str, str | None]


class AlertContext(ControlContext, TopicContext, Protocol):
    """An alert publisher at run time, in the run's own process."""


class AlertPublisher(Plugin):
    """Publishes the alerts of the stages that are connected to it.

    It is called once at the end of a run, whether the run has succeeded or not, after the post actions; not
    when there are no alerts. An exception is logged and does not change the status of the run.
    """

    types = ("alertpublisher",)
    context: AlertContext
    """Set by :meth:`initialize`."""

    def configure(self, stage: StageConfigurer) -> None:
        """Accept any input. An alert publisher gets no records, and has no output schema."""

    def initialize(self, context: AlertContext) -> None:
        """Prepare for alerts: called once before :meth:`publish`. Call it from an override."""
        self.context = context

    def publish(self, alerts: Iterator[Alert]) -> None:
        """Publish all alerts, which come stage by stage, and of a stage in no certain order."""
        raise NotImplementedError

    def destroy(self) -> None:
        """Release resources; called once, also after an exception."""


def limit_rate(
    items: Iterator[_Item],
    per_second: int,
    logger: logging.Logger,
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[_Item]:
    """Yield items, at most ``per_second`` of them in a second; wait for the next second after these.

    The rule, and the line that is logged, are those of CDAP's ``TMSAlertPublisher``.
    """
    began, taken = now(), 0
    for item in items:
        passed = now() - began
        if passed >= _SECOND:
            began, taken = now(), 0
        elif taken >= per_second:
            rest = _SECOND - passed
            logger.info(
                "Hit maximum of %d published alerts in the past second, sleeping for %d millis.",
                taken,
                round(rest * 1000),
            )
            sleep(rest)
            began, taken = now(), 0
        taken += 1
        yield item
