"""The steps of a run: phases on Spark, conditions and actions between them (CDAP 6 ``SmartWorkflow``).

The field lineage of the stages of a run.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from localcdap.api.errors import StageError
from localcdap.api.lineage import StageLineage
from localcdap.api.metadata import MetadataEntity
from localcdap.api.pipeline import StageConnection
from localcdap.api.schema import Schema
from localcdap.artifacts.loading import UsedPlugins
from localcdap.engine.driver.accesses import (
    PROPAGATION,
    find_flows,
    list_control_accesses,
    list_datasets,
    list_reads,
    list_stage_places,
    list_writes,
)
from localcdap.engine.driver.control_stages import ControlStages, RunAlerts
from localcdap.engine.driver.execution import execute_plan, prepare_plans
from localcdap.engine.host_client import create_metadata_reader
from localcdap.engine.messages.flow import (
    ACTIONS,
    CONDITION,
    CONTROL,
    JOINER,
    SINKS,
    SOURCE,
    Flow,
    Stage,
    create_configurer,
)
from localcdap.engine.messages.orders import WorkOrder
from localcdap.engine.messages.samples import AlteredValues, explain_noticed
from localcdap.engine.messages.spool import (
    Alerted,
    DatasetAccess,
    DatasetFlow,
    ExpectationsChecked,
    LineageTraced,
    RecordCounts,
    SinksProfiled,
    StagesTimed,
    ValuesAltered,
)
from localcdap.engine.plan.contexts import RunContext
from localcdap.engine.plan.error_attribution import stage_scope
from localcdap.engine.plan.expectations import explain_failures
from localcdap.engine.plan.personal_data import find_personal_fields
from localcdap.engine.plan.phases import PhaseRoute, Step, list_actions_before
from localcdap.engine.plan.planner import plan_flow
from localcdap.engine.plan.preparation import find_source_schema, finish_stages, get_plugin
from localcdap.engine.plan.record_counter import RecordCounter
from localcdap.engine.plan.resolution import ResolvedFlow, resolve_order
from localcdap.engine.plan.spark_types import SchemaCheck
from localcdap.engine.plan.streams import Plan
from localcdap.expectations.results import RuleResult
from localcdap.sandbox.stage_configuration import assume_lineage, pass_fields, record_lineage
from localcdap.text import plural

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_LOG: Final = logging.getLogger("localcdap.engine")


def trace_flow(flow: Flow, run: RunContext) -> LineageTraced:
    """Return the lineage of the stages of a phase, after its sinks have written."""
    return LineageTraced([_trace(stage, run) for stage in flow.stages], flow.connections)


def _trace(stage: Stage, run: RunContext) -> StageLineage:
    configurer = create_configurer(stage)
    configurer.find_plugin = UsedPlugins(stage.plugin.uses)
    configurer.find_table = run.find_table
    if stage.type == CONDITION:
        return pass_fields(stage.type, configurer)
    recorded = run.operations.get(stage.name, ())
    try:
        found = record_lineage(get_plugin(run, stage), stage.type, configurer, recorded)
    except (Exception, SystemExit) as error:
        with stage_scope(stage.name):
            _LOG.warning("The field lineage of stage '%s' is assumed: %s", stage.name, error)
        found = assume_lineage(stage.type, configurer)
    if stage.type not in (SOURCE, *SINKS):
        return found
    return msgspec.structs.replace(
        found,
        datasets=list(dict.fromkeys(list_datasets(stage, run))),
        places=list_stage_places(stage, run),
    )


PhaseMessage: TypeAlias = (
    LineageTraced | StagesTimed | ExpectationsChecked | SinksProfiled | Alerted | ValuesAltered
)
"""What is known of a phase when it has ended."""


class Workflow:
    """Runs the steps of one run: :meth:`prepare`, :meth:`run_data`, :meth:`run_ending`,
    :meth:`run_post_actions`, :meth:`publish_alerts`.

    :param resolved: the pipeline before any of its actions has run.
    :param on_counts: called with the counts of the stages of each phase that has ended.
    :param on_accesses: called with the datasets that a phase begins to read or has written, and that a
        control stage has read or changed.
    :param on_phase: called with what is known of a phase that has ended: the field lineage, the times of its
        stages, the results of its expectations, the profiles of what its sinks have written, the first
        alerts of its stages, and the values that these have altered.
    """

    def __init__(
        self,
        order: WorkOrder,
        resolved: ResolvedFlow,
        run: RunContext,
        on_counts: Callable[[dict[str, RecordCounts]], None],
        on_accesses: Callable[[list[DatasetAccess]], None] = lambda _: None,
        on_phase: Callable[[PhaseMessage], None] = lambda _: None,
    ) -> None:
        self._order: Final = order
        self._resolved = resolved
        self._run: Final = run
        self._on_counts: Final = on_counts
        self._report: Final = on_accesses
        self._on_phase: Final = on_phase
        self._accessed: Final[list[DatasetAccess]] = []
        self._flow: Flow | None = None
        """The last phase that was executed."""
        self._arguments: Final = dict(order.arguments)
        run.arguments = self._arguments
        self._control_stages: Final = ControlStages(run, order.pipeline, self._arguments)
        self._counts: Final[dict[str, RecordCounts]] = {}
        self._live: set[StageConnection] = set()
        """The connections that lead from stages that have run, on the branches that were taken."""
        self._done: Final[set[str]] = set()
        """The stages that have run, or were skipped."""
        self._found_schemas: Final[dict[str, Schema]] = {}
        """By source, the output schema that it has found in the run."""
        self._plans: Final[dict[int, Plan]] = {}
        """By step, the plans that :meth:`prepare` made."""
        self._checked: Final[set[int]] = set()
        self._persisted: Final[list[DataFrame]] = []
        """What the last phase persisted: released before the next phase, or after the report of the end."""
        self._connectors: Final[dict[str, DataFrame]] = {}
        self.explained: Final[dict[str, list[str]]] = {}
        """By stage that :meth:`prepare` planned, how it runs, line by line."""
        self._alerts: Final = RunAlerts(run)
        # Conditions are evaluated on the counts, and alerts come with them.
        forwarding = CONDITION in resolved.route.types.values()
        counts = order.counts or order.is_strict
        self._counts_records: Final = counts or forwarding or bool(resolved.publishers)
        self._noticed: Final[list[AlteredValues]] = []
        """What stages have altered or dropped so far."""

    @property
    def _route(self) -> PhaseRoute:
        return self._resolved.route

    @property
    def has_ending(self) -> bool:
        """Whether anything comes after the data: control stages, post actions or alert publishers."""
        followers = self._resolved.ending_actions or self._resolved.publishers
        return bool(followers) or self.has_ending_steps

    @property
    def has_ending_steps(self) -> bool:
        """Whether control stages come after the data, which can still fail the run."""
        return any(step.is_ending for step in self._route.steps)

    def prepare(self) -> None:
        """Plan all phases that can be planned before the run, and check their schemas; nothing is read yet.

        Phases after actions cannot, since actions may set their arguments and write their files; nor, after
        conditions whose branch may not be taken, sources and plugins that prepare runs.

        :raises StageError: when a stage cannot be planned, or a schema differs.
        """
        checks: list[SchemaCheck] = []
        given: dict[str, DataFrame] = {}
        try:
            for number, step in enumerate(self._route.steps):
                if not step.is_phase or not self._can_be_planned(step, given):
                    continue
                self._find_schemas(step.stages)
                flow = self._resolved.create_phase(step.stages, self._route.connections)
                plan = plan_flow(flow, self._run, counts=self._counts_records, given=given)
                checks += plan.checks
                self.explained.update(plan.explained)
                self._checked.add(number)
                if not step.before:
                    # Of others it is not known which branches are taken: they are planned again.
                    self._plans[number] = plan
                given |= plan.connectors
                self._share_connectors(given)
            prepare_plans(list(self._plans.values()), checks)
        except BaseException:
            self.release()
            raise

    def run_data(self) -> None:
        """Run everything except what comes after all data.

        :raises StageError: when a stage fails, or a strict run has noticed something.
        """
        self._run_steps(ending=False)
        self._check_noticed()

    def run_ending(self) -> None:
        """Run the control stages after all data.

        :raises StageError: when one fails, or a strict run has noticed something.
        """
        self._run_steps(ending=True)
        self._check_noticed()

    def _check_noticed(self) -> None:
        error = explain_noticed(self._noticed) if self._order.is_strict else None
        if error is not None:
            raise error

    def finish_stages(self) -> None:
        """Have the plugins of data stages finish a run whose output is not committed."""
        finish_stages(self._run, succeeded=False)

    def run_post_actions(self, *, succeeded: bool) -> None:
        """Run the post actions, in order; a failure is logged and changes nothing."""
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
                stage = self._resolved.create_control(name)
                with self._report_accesses(stage):
                    ran = self._control_stages.run_post_action(
                        stage, self._counts, succeeded=succeeded
                    )
                if not ran:
                    _LOG.info("Post action '%s' is not for this outcome", name)
            except Exception as error:
                _LOG.warning("Post action '%s' failed: %s", name, error)

    def publish_alerts(self) -> None:
        """Have the alert publishers publish the alerts of the stages before them; failures change nothing.

        As in CDAP (``SmartWorkflow.destroy``), a publisher without alerts is not even created.
        """
        for name, stages in self._resolved.publishers.items():
            count = self._alerts.count(stages)
            if not count:
                continue
            try:
                self._refresh()
                stage = self._resolved.create_control(name)
                self._control_stages.publish_alerts(stage, self._alerts.read(stages), self._counts)
                _LOG.info("Stage '%s' has published %s.", name, plural(count, "alert"))
            except Exception as error:
                text = "Stage '%s' had errors publishing alerts. Alerts may not have been published. %s"
                _LOG.warning(text, name, error)
            self._report_counts({name: RecordCounts(in_=count)})

    def list_flows(self) -> list[DatasetFlow]:
        """Return where metadata is to go along with the records; nothing unless the pipeline asks for it."""
        given = self._resolved.document.properties.get(PROPAGATION, "")
        if given.strip().lower() != "true":
            return []
        return find_flows(self._accessed, self._route.types, self._live)

    def find_personal_fields(self, stage: str | None, fields: Collection[str]) -> set[str]:
        """Return the fields that hold personal data, of those that are given and those of a stage.

        :param stage: the stage of a failure; None when it is not known.
        """
        names = list(fields)
        if self._flow is not None and stage in {each.name for each in self._flow.stages}:
            found = self._flow.get_stage(stage)
            for schema in (found.output_schema, *found.input_schemas.values()):
                names += schema.field_names if schema is not None else ()
        datasets = {
            MetadataEntity.of_dataset(name, self._order.namespace): None
            for access in self._accessed
            for name in (access.dataset, *access.tables)
        }
        return find_personal_fields(
            datasets,
            dict.fromkeys(names),
            create_metadata_reader(self._order.host_directory),
        )

    def _on_accesses(self, accesses: list[DatasetAccess]) -> None:
        self._accessed.extend(accesses)
        self._report(accesses)

    def release(self) -> None:
        """Release what Spark keeps."""
        for plan in self._plans.values():
            _release(plan)
        for frame in (*self._persisted, *self._connectors.values()):
            frame.unpersist()
        self._persisted.clear()
        self._connectors.clear()
        self._plans.clear()

    def _run_steps(self, *, ending: bool) -> None:
        for number, step in enumerate(self._route.steps):
            if step.is_ending is not ending:
                continue
            stages = [name for name in step.stages if self._is_reached(name)]
            if step.is_phase and stages:
                self._run_phase(number, step, stages)
            elif stages:
                self._run_control(step, stages[0])

    def _run_phase(self, number: int, step: Step, stages: list[str]) -> None:
        plan = self._plans.pop(number, None)
        if plan is None:
            self._refresh(step)
            self._find_schemas(stages)
            self._require_all_inputs(stages)
        flow = self._flow = self._resolved.create_phase(stages, self._live)
        if plan is None:
            plan = plan_flow(flow, self._run, counts=self._counts_records, given=self._connectors)
            self._prepare_late(plan, is_checked=number in self._checked)
        self._connectors.update(plan.connectors)
        while self._persisted:
            self._persisted.pop().unpersist()
        self._persisted.extend(plan.persisted)
        self._on_accesses(list_reads(flow, self._run))
        counts = execute_plan(
            plan, flow, self._run.spark, tag=self._order.run_id, block=self._run.block
        )
        self._on_accesses(list_writes(flow, self._run))
        self._on_phase(trace_flow(flow, self._run))
        if plan.counter is not None:
            self._report_tasks(plan.counter)
        self._report_altered(stages, plan.counter)
        for entry in self._route.list_entries(stages, self._live):
            counts.pop(entry, None)
        for name in self._route.list_exits(stages):
            if name in counts:
                counts[name].out = counts[name].in_
        self._report_counts(counts)
        if plan.profiler is not None:
            self._on_phase(SinksProfiled(plan.profiler.get_profiles()))
        if plan.expectations is not None:
            self._report_results(plan.expectations.get_results())

    def _report_tasks(self, counter: RecordCounter) -> None:
        """Report what the tasks of a phase have told beside the counts of records."""
        if counter.stage_times:
            self._on_phase(StagesTimed(dict(counter.stage_times)))
        try:
            for alerted in self._alerts.add(counter):
                self._on_phase(alerted)
        except OSError as error:
            _LOG.warning("Alerts cannot be read, and are not published: %s", error)

    def _report_altered(self, stages: list[str], counter: RecordCounter | None = None) -> None:
        """Report the values that stages have altered, and warn of each kind of change."""
        altered = self._run.altered.take(stages, counter.altered if counter is not None else ())
        self._noticed.extend(altered)
        for values in altered:
            with stage_scope(values.stage):
                _LOG.warning("%s", values.describe())
        if altered:
            self._on_phase(ValuesAltered(altered))

    def _report_results(self, results: list[RuleResult]) -> None:
        """Report the results of expectations.

        :raises StageError: when the run fails because of one.
        """
        self._on_phase(ExpectationsChecked(results))
        error = explain_failures(results)
        if error is not None:
            raise error

    @staticmethod
    def _prepare_late(plan: Plan, *, is_checked: bool) -> None:
        try:
            prepare_plans([plan], [] if is_checked else plan.checks)
        except BaseException:
            _release(plan)
            raise

    def _run_control(self, step: Step, name: str) -> None:
        self._refresh(step)
        self._share_connectors(self._connectors)
        stage = self._resolved.create_control(name)
        if stage.type != CONDITION:
            _LOG.info("Action '%s' is started", name)
            with self._report_accesses(stage):
                self._control_stages.run_action(stage, self._counts)
            self._report_altered([name])
            self._open_connections(name)
            return
        for feeder in self._route.list_feeders(name):
            if name not in self._counts and feeder in self._counts:
                self._report_counts({name: self._counts[feeder]})
        with self._report_accesses(stage):
            taken = self._control_stages.decide(stage, self._counts)
        self._report_altered([name])
        _LOG.info("Condition '%s' is %s", name, str(taken).lower())
        self._open_connections(name, taken)

    @contextlib.contextmanager
    def _report_accesses(self, stage: Stage) -> Iterator[None]:
        """Report what a control stage has read and changed in a block, also when it fails."""
        try:
            yield
        finally:
            self._on_accesses(list_control_accesses(stage, self._run))

    def _refresh(self, step: Step | None = None) -> None:
        """Resolve the pipeline again when actions have run since the last time that the step comes after."""
        actions = {name for name, type in self._route.types.items() if type in ACTIONS}
        actions &= list_actions_before(self._route, step) if step is not None else self._done
        if actions - self._resolved.done:
            self._resolve(self._done)

    def _find_schemas(self, stages: Iterable[str]) -> None:
        """Have the sources among stages find the schemas that only their systems tell, and propagate them.

        :raises StageError: when a source fails.
        :raises InvalidPipelineError: when a stage cannot handle such records.
        """
        sources = self._resolved.list_open_sources(stages)
        for source in sources:
            found = find_source_schema(source, self._run, self._arguments.__setitem__)
            self._found_schemas[source.name] = found
        if sources:
            self._resolve(self._resolved.done)

    def _resolve(self, done: Collection[str]) -> None:
        self._resolved = resolve_order(
            self._order,
            self._arguments,
            frozenset(done),
            document=self._resolved.document,
            found=self._found_schemas,
        )

    def _share_connectors(self, frames: dict[str, DataFrame]) -> None:
        """Let conditions that get all records from another condition share its persisted records."""
        for _ in self._route.forwarding:
            for name in self._route.forwarding - frames.keys():
                feeders = self._route.list_feeders(name)
                found = [frames[f] for f in feeders if f in frames]
                if found and self._is_chained(name):
                    frames[name] = found[0]

    def _is_chained(self, condition: str) -> bool:
        into = [c for c in self._route.connections if c.target == condition]
        return all(
            c.source in self._route.forwarding for c in into if self._route.carries_records(c)
        )

    def _can_be_planned(self, step: Step, given: Mapping[str, DataFrame]) -> bool:
        if list_actions_before(self._route, step):
            return False
        if not step.before:
            return True
        has_source = any(self._route.types[name] == SOURCE for name in step.stages)
        if has_source or self._resolved.keeps_plugins(step.stages):
            return False
        return all(
            e in given for e in self._route.list_entries(step.stages, self._route.connections)
        )

    def _is_reached(self, name: str) -> bool:
        """Whether a stage is to run: nothing leads to it, or a stage that has run, on a branch that was
        taken.
        """
        into = [c for c in self._route.connections if c.target == name]
        if into and not any(c in self._live for c in into):
            self._done.add(name)
            self._report_counts({name: RecordCounts()})
            with stage_scope(name):
                _LOG.info("Stage '%s' is skipped: it is on a branch that was not taken", name)
            return False
        if self._route.types[name] not in CONTROL:
            self._open_connections(name)
        return True

    def _open_connections(self, name: str, branch: bool | None = None) -> None:
        """Mark the connections that lead on from a stage as live, of a condition only those of one branch."""
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

    def _report_counts(self, counts: dict[str, RecordCounts]) -> None:
        self._counts.update(counts)
        if counts and self._counts_records:
            self._on_counts(counts)


def _release(plan: Plan) -> None:
    for frame in (*plan.persisted, *plan.connectors.values()):
        frame.unpersist()
