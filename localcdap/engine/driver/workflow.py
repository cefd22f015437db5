"""A run step by step: phases on Spark, conditions and actions between them (CDAP 6 ``SmartWorkflow``)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from localcdap.api.errors import StageError
from localcdap.api.pipeline import StageConnection
from localcdap.engine.driver.blame import working_on
from localcdap.engine.driver.contexts import Surroundings
from localcdap.engine.driver.controlling import Controls
from localcdap.engine.driver.execution import execute
from localcdap.engine.order import WorkOrder
from localcdap.engine.plan.checking import Check, check
from localcdap.engine.plan.counting import StageCounts
from localcdap.engine.plan.flow import ACTIONS, CONDITION, CONTROL, JOINER, SOURCE
from localcdap.engine.plan.phases import Route, Step, actions_of
from localcdap.engine.plan.planner import Plan, plan
from localcdap.engine.plan.resolving import Resolved, resolve

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG: Final = logging.getLogger("localcdap.engine")


class Workflow:
    """Carries out the steps of one run: first :meth:`prepare`, then the data, then what comes behind it.

    :param resolved: the pipeline before any of its actions has run.
    :param counted: told of the records of the stages of each phase that has ended.
    """

    def __init__(
        self,
        order: WorkOrder,
        resolved: Resolved,
        around: Surroundings,
        counted: Callable[[dict[str, StageCounts]], None],
    ) -> None:
        self._order: Final = order
        self._resolved = resolved
        self._around: Final = around
        self._counted: Final = counted
        self._arguments: Final = dict(order.arguments)
        around.arguments = self._arguments
        self._controls: Final = Controls(around, order.pipeline, self._arguments)
        self._counts: Final[dict[str, StageCounts]] = {}
        self._live: set[StageConnection] = set()
        """The connections that lead on from what has run."""
        self._done: Final[set[str]] = set()
        """The stages that have run, or were skipped."""
        self._plans: Final[dict[int, Plan]] = {}
        """By step: made ahead."""
        self._checked: Final[set[int]] = set()
        self._connectors: Final[dict[str, DataFrame]] = {}
        self.explained: Final[dict[str, list[str]]] = {}
        """By stage that :meth:`prepare` has planned, how it runs, line by line."""
        # Conditions go by what was counted.
        forwarding = CONDITION in resolved.route.types.values()
        self._counts_records: Final = order.counts or forwarding

    @property
    def _route(self) -> Route:
        return self._resolved.route

    @property
    def has_ending(self) -> bool:
        """Whether anything comes behind the data: control stages or post actions."""
        return bool(self._resolved.ending_actions) or self.has_ending_steps

    @property
    def has_ending_steps(self) -> bool:
        """Whether control stages come behind the data, which can still fail the run."""
        return any(step.is_ending for step in self._route.steps)

    def prepare(self) -> None:
        """Plan all phases that can be planned by now, and compare their schemas; nothing is read yet.

        That leaves out phases behind actions, which may give them arguments and files, and sources behind
        conditions, which may not be wanted.

        :raises StageError: when a stage cannot be planned, or a schema differs.
        """
        checks: list[Check] = []
        given: dict[str, DataFrame] = {}
        try:
            for number, step in enumerate(self._route.steps):
                if not step.is_phase or not self._can_be_planned(step, given):
                    continue
                flow = self._resolved.phase(step.stages, self._route.connections)
                made = plan(flow, self._around, counts=self._counts_records, given=given)
                checks += made.checks
                self.explained.update(made.explained)
                self._checked.add(number)
                self._plans[number] = made
                given |= made.connectors
                self._chain(given)
            check(checks)
        except BaseException:
            self.release()
            raise
        for number in list(self._plans):
            if self._route.steps[number].before:
                # Which branches are taken is not known yet: it is planned again.
                _release(self._plans.pop(number))

    def run_data(self) -> None:
        """Everything but what comes behind all data.

        :raises StageError: when a stage fails.
        """
        self._run(ending=False)

    def run_ending(self) -> None:
        """The control stages behind all data.

        :raises StageError: when one fails.
        """
        self._run(ending=True)

    def finish(self, *, succeeded: bool) -> None:
        """The post actions, in order; what fails is logged and changes nothing."""
        names = self._resolved.ending_actions
        if not names:
            return
        try:
            self._refresh()
        except Exception as error:
            _LOG.warning("The post actions cannot be run: %s", error)
            return
        for name in names:
            try:
                ran = self._controls.finish(
                    self._resolved.control(name), self._counts, succeeded=succeeded
                )
                if not ran:
                    _LOG.info("Post action '%s' is not for this outcome", name)
            except Exception as error:
                _LOG.warning("Post action '%s' failed: %s", name, error)

    def release(self) -> None:
        """Let go of what Spark keeps."""
        for made in self._plans.values():
            _release(made)
        for frame in self._connectors.values():
            frame.unpersist()
        self._connectors.clear()
        self._plans.clear()

    def _run(self, *, ending: bool) -> None:
        for number, step in enumerate(self._route.steps):
            if step.is_ending is not ending:
                continue
            stages = [name for name in step.stages if self._reach(name)]
            if step.is_phase and stages:
                self._run_phase(number, step, stages)
            elif stages:
                self._run_control(step, stages[0])

    def _run_phase(self, number: int, step: Step, stages: list[str]) -> None:
        made = self._plans.pop(number, None)
        if made is None:
            self._refresh(step)
            self._require_all_inputs(stages)
        flow = self._resolved.phase(stages, self._live)
        if made is None:
            made = plan(flow, self._around, counts=self._counts_records, given=self._connectors)
        if number in self._checked:
            made.checks = []
        self._connectors.update(made.connectors)
        counts = execute(
            made, flow, self._around.spark, tag=self._order.run_id, running=lambda: None
        )
        for entry in self._route.entries(stages, self._live):
            counts.pop(entry, None)
        for name in self._route.exits(stages):
            if name in counts:
                counts[name].out = counts[name].in_
        self._count(counts)

    def _run_control(self, step: Step, name: str) -> None:
        self._refresh(step)
        self._chain(self._connectors)
        stage = self._resolved.control(name)
        if stage.type != CONDITION:
            _LOG.info("Action '%s' is started", name)
            self._controls.act(stage, self._counts)
            self._leave(name)
            return
        for feeder in self._route.feeders(name):
            if name not in self._counts and feeder in self._counts:
                self._count({name: self._counts[feeder]})
        taken = self._controls.decide(stage, self._counts)
        _LOG.info("Condition '%s' is %s", name, str(taken).lower())
        self._leave(name, "true" if taken else "false")

    def _refresh(self, step: Step | None = None) -> None:
        """Configure anew what comes behind actions that have run meanwhile, if a step does."""
        actions = {name for name, type in self._route.types.items() if type in ACTIONS}
        actions &= actions_of(self._route, step) if step is not None else self._done
        if actions - self._resolved.done:
            self._resolved = resolve(
                self._order, self._arguments, frozenset(self._done), self._resolved.document
            )

    def _chain(self, frames: dict[str, DataFrame]) -> None:
        """Conditions that get all records from other conditions share what is kept for those."""
        for _ in self._route.forwarding:
            for name in self._route.forwarding - frames.keys():
                feeders = self._route.feeders(name)
                found = [frames[f] for f in feeders if f in frames]
                if found and self._is_chained(name):
                    frames[name] = found[0]

    def _is_chained(self, condition: str) -> bool:
        into = [c for c in self._route.connections if c.target == condition]
        return all(
            c.source in self._route.forwarding for c in into if self._route.carries_records(c)
        )

    def _can_be_planned(self, step: Step, given: Mapping[str, DataFrame]) -> bool:
        if actions_of(self._route, step):
            return False
        if not step.before:
            return True
        has_source = any(self._route.types[name] == SOURCE for name in step.stages)
        return not has_source and all(
            e in given for e in self._route.entries(step.stages, self._route.connections)
        )

    def _reach(self, name: str) -> bool:
        """Whether a stage is to run: nothing leads to it, or something that has run and chose this way."""
        into = [c for c in self._route.connections if c.target == name]
        if into and not any(c in self._live for c in into):
            self._done.add(name)
            self._count({name: StageCounts()})
            with working_on(name):
                _LOG.info("Stage '%s' is skipped: it is on a branch that was not taken", name)
            return False
        if self._route.types[name] not in CONTROL:
            self._leave(name)
        return True

    def _leave(self, name: str, branch: str | None = None) -> None:
        """Open the ways that lead on from a stage, of a condition those of one branch."""
        self._done.add(name)
        self._live |= {
            c
            for c in self._route.connections
            if c.source == name and (branch is None or c.condition == branch)
        }

    def _require_all_inputs(self, stages: list[str]) -> None:
        for name in stages:
            if self._route.types[name] != JOINER:
                continue
            dead = [
                c.source
                for c in self._route.connections
                if c.target == name and c not in self._live
            ]
            if dead:
                raise StageError(
                    f"Stage '{name}' joins the records of '{dead[0]}', which is on a branch that was not "
                    "taken.",
                    "Join only stages of one branch.",
                    stage=name,
                )

    def _count(self, counts: dict[str, StageCounts]) -> None:
        self._counts.update(counts)
        if counts and self._counts_records:
            self._counted(counts)


def _release(made: Plan) -> None:
    for frame in (*made.persisted, *made.connectors.values()):
        frame.unpersist()
