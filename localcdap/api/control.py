"""Plugins that steer a run and handle no records: actions, conditions, and what ends a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from localcdap.api.config import PluginConfig, field
from localcdap.api.plugin import Plugin
from localcdap.api.stage import StageConfigurer, StageContext
from localcdap.api.tables import CreatedTable, TableResult


class StageStatistics(msgspec.Struct, frozen=True):
    """Records of a stage that has ended."""

    input: int
    output: int
    error: int


class ControlContext(StageContext, Protocol):
    """An action or a condition at run time, in the run's own process."""

    pipeline: str
    """The pipeline's name."""
    stage_statistics: Mapping[str, StageStatistics]
    """Of all stages that handle records and ran before this one, or were skipped: those have zeros."""

    is_remote: bool
    """Whether the run is on a cluster, whose files this process does not see."""

    def resolve_path(self, path: str) -> str:
        """The place on this machine of a path in a pipeline document, as sources and sinks see it."""

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        """An error to raise that names this stage."""


class ActionContext(ControlContext, Protocol):
    """An action at run time."""

    def set_argument(self, name: str, value: str) -> None:
        """Set an argument of the run, for the macros and the contexts of the stages behind this action."""

    def run_sql(
        self,
        statements: Sequence[str],
        changes: Sequence[str] = (),
        makes: Sequence[CreatedTable] = (),
    ) -> TableResult:
        """Carry out SQL statements on the structured datasets of this namespace, at once, all or none.

        :param statements: each a single one, in the SQL of DuckDB; they see the tables by their names.
        :param changes: names of the tables that are changed, made or dropped.
        :param makes: those of them that are made, by what they are parted; the last word on each counts.
        :raises StageError: when one is wrong, or takes more than two minutes or a GB of memory.
        """


class PostActionContext(ActionContext, Protocol):
    """A post action at run time."""

    succeeded: bool
    """Whether the run has succeeded; what its sinks wrote is in place then."""


class Action(Plugin):
    """Does something before all sources or behind all sinks. What it raises fails the run."""

    types = ("action",)

    def configure(self, stage: StageConfigurer) -> None:
        """The default accepts anything. An action has no output schema."""

    def run(self, context: ActionContext) -> None:
        raise NotImplementedError


class Condition(Plugin):
    """Chooses one of two branches, once the stages before it have ended. Records pass through unchanged."""

    types = ("condition",)

    def decide(self, context: ControlContext) -> bool:
        """Whether the branch ``true`` is taken, and not the branch ``false``."""
        raise NotImplementedError


class PostActionConfig(PluginConfig):
    run_condition: str = field(
        "When to run: on completion (of whatever outcome), success, or failure of the pipeline.",
        default="completion",
        choices=["completion", "success", "failure"],
        name="runCondition",
        macro=True,
    )


class PostAction(Plugin):
    """Does something at the end of a run. What it raises is logged and changes nothing."""

    types = ("postaction",)
    Config = PostActionConfig
    config: PostActionConfig

    def configure(self, stage: StageConfigurer) -> None:
        """The default accepts anything."""

    def should_run(self, succeeded: bool) -> bool:
        """Whether the property ``runCondition`` asks for it."""
        wanted = "success" if succeeded else "failure"
        return self.config.run_condition in ("completion", wanted)

    def run(self, context: PostActionContext) -> None:
        raise NotImplementedError
