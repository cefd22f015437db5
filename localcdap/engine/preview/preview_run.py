"""Previews from their order to their end: runs that write nothing and report the records of every stage.

The directories into which the sinks of a preview write: they are removed with the preview.
"""

from __future__ import annotations

import dataclasses
import itertools
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.errors import EngineError, StageError
from localcdap.api.metadata import MetadataOperation
from localcdap.api.pipeline import StageConnection
from localcdap.engine.commit import Staging, make_job_directory
from localcdap.engine.driver.progress_report import create_status
from localcdap.engine.driver.run_driver import RunDriver, create_failed
from localcdap.engine.driver.workflow import Workflow
from localcdap.engine.host_client import create_metadata_check, create_metadata_reader, get_secrets
from localcdap.engine.messages.flow import Flow, Stream
from localcdap.engine.messages.orders import (
    PipelineTestCase,
    PreviewOrder,
    StageDebugOrder,
    WorkOrder,
)
from localcdap.engine.messages.samples import StageSample
from localcdap.engine.messages.spool import (
    CaseEnded,
    CaseStarted,
    Explained,
    Failed,
    RecordCounts,
    RunStatus,
    Sampled,
)
from localcdap.engine.plan.contexts import RunContext
from localcdap.engine.plan.phases import Step
from localcdap.engine.plan.resolution import ResolvedFlow, resolve_order
from localcdap.engine.plan.run_metadata import RunMetadata, describe_operation
from localcdap.engine.plan.tables import TableSource
from localcdap.engine.preview.records import encode_given_streams
from localcdap.engine.preview.stage_debug import encode_inputs
from localcdap.engine.preview.stage_runner import OnSample, StageByStageRunner
from localcdap.java.unix_time import from_epoch_millis
from localcdap.messaging.consumer import SpoolWriter
from localcdap.processes.limits import limit_memory
from localcdap.processes.tree import interrupt_this_process

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


_SINKS: Final = "sinks"


class ScratchStaging(Staging):
    """The staging directories of a preview, none of which becomes visible.

    :param run_directory: of the preview.
    """

    def __init__(self, run_directory: Path, run_id: str) -> None:
        super().__init__(run_directory, run_id)
        self._root: Final = run_directory / _SINKS
        self._numbers: Final = itertools.count()

    def create_directory(self, final: str, *, written_by_spark: bool = False) -> str:
        """Create an empty directory; whether ``final`` is free does not matter."""
        directory = self._root / str(next(self._numbers))
        directory.mkdir(parents=True)
        if written_by_spark:
            make_job_directory(directory)
        return str(directory)

    def block(self, table_directory: Path) -> None:
        """Do nothing: nothing of a preview stays."""


_LOG: Final = logging.getLogger("localcdap.engine")
_MEMORY_MB: Final = 3072
"""The memory limit of the process, in which all Python stages run; Spark's memory is not included."""
_GRACE_S: Final = 5.0
"""Seconds that the process may take to stop by itself when its owner has gone."""


class PreviewDriver(RunDriver):
    """Carries out the order of a preview. It ends with its owner, which holds the other end of its input."""

    def __init__(
        self, run_directory: Path, order: WorkOrder, tables: TableSource | None = None
    ) -> None:
        super().__init__(run_directory, order, tables)
        self._staging = ScratchStaging(run_directory, order.run_id)

    def _execute(self, spool: SpoolWriter) -> RunStatus:
        limit_memory(_MEMORY_MB)
        _watch_owner()
        preview = self._order.preview
        if preview is None:
            raise EngineError("The work order is not one of a preview.")
        on_sample = partial(self._report_sample, spool)
        if preview.debug is not None:
            self._debug_stage(preview, preview.debug, spool, on_sample)
        else:
            self._preview(preview, spool, on_sample)
        spool.append(create_status(RunStatus.COMPLETED))
        return RunStatus.COMPLETED

    def _create_context(self, spark: SparkSession) -> RunContext:
        """Return the context of the stages; what they emit is shown in the log only."""
        run = super()._create_context(spark)
        home = self._order.host_directory
        run.metadata = RunMetadata(
            create_metadata_reader(home), _log_emission, create_metadata_check(home)
        )
        return run

    def _preview(self, preview: PreviewOrder, spool: SpoolWriter, on_sample: OnSample) -> None:
        resolved, run = self._resolve()
        _LOG.info("Preview of pipeline '%s' running", self._order.pipeline)
        spool.append(create_status(RunStatus.RUNNING))
        if preview.explains:
            spool.append(Explained(self._explain(resolved, run)))
            return
        workflow = PreviewWorkflow(self._order, resolved, run, preview, on_sample)
        workflow.run_data()
        workflow.run_ending()

    def _explain(self, resolved: ResolvedFlow, run: RunContext) -> dict[str, list[str]]:
        """Plan the run, check its schemas, and return how its stages would be computed."""
        workflow = Workflow(self._order, resolved, run, lambda _: None)
        workflow.prepare()
        workflow.release()
        stages = (name for step in resolved.route.steps for name in step.stages)
        return {name: workflow.explained[name] for name in stages if name in workflow.explained}

    def _debug_stage(
        self, preview: PreviewOrder, debug: StageDebugOrder, spool: SpoolWriter, on_sample: OnSample
    ) -> None:
        stage = debug.stage
        connections = [StageConnection(name, stage.name) for name in stage.input_schemas]
        given, run = self._connect_during(partial(encode_inputs, stage, debug.inputs))
        spool.append(create_status(RunStatus.RUNNING))
        runner = StageByStageRunner(
            Flow([stage], connections),
            run,
            limit=preview.records,
            shown=preview.shown,
            on_sample=on_sample,
            given=given,
            drops_errors=debug.drops_errors,
        )
        runner.run()

    def _report_sample(self, spool: SpoolWriter, stage: str, sample: StageSample) -> None:
        sample.problems = get_secrets(self._order).clean(sample.problems)
        spool.append(Sampled(stage, sample))

    def _undo(self, spool: SpoolWriter, end: RunStatus, reasons: list[Failed]) -> RunStatus:
        """Report the end; a preview has written nothing, and does not run post actions."""
        spool.append(*reasons, create_status(end))
        return end


def _log_emission(_stage: str, operation: MetadataOperation) -> None:
    _LOG.info("A run would emit: %s", describe_operation(operation))


class PipelineTestDriver(PreviewDriver):
    """Runs the cases of an order in turn, with one session. A case that fails does not stop the others."""

    def _execute(self, spool: SpoolWriter) -> RunStatus:
        _watch_owner()
        _, run = self._connect_during(lambda: None)
        spool.append(create_status(RunStatus.RUNNING))
        for number, case in enumerate(self._order.cases):
            spool.append(CaseStarted(number))
            spool.append(CaseEnded(number, self._run_case(case, run, spool)))
        spool.append(create_status(RunStatus.COMPLETED))
        return RunStatus.COMPLETED

    def _run_case(
        self, case: PipelineTestCase, run: RunContext, spool: SpoolWriter
    ) -> Failed | None:
        """Run a case; return why it has failed, None when it has not."""
        order = msgspec.structs.replace(
            self._order,
            pipeline=case.pipeline,
            document=case.document,
            plugins=case.plugins,
            arguments=case.arguments,
            logical_start_ms=case.logical_start_ms,
            preview=case.preview,
            cases=[],
        )
        start = from_epoch_millis(case.logical_start_ms)
        run = dataclasses.replace(run, logical_start_time=start, prepared={})
        on_sample = partial(self._report_sample, spool)
        try:
            resolved = resolve_order(order)
            with _set_properties(run.spark, resolved.spark_properties):
                workflow = PreviewWorkflow(order, resolved, run, case.preview, on_sample)
                workflow.run_data()
                workflow.run_ending()
        except Exception as error:
            return create_failed(self._monitor.get_error() or error, get_secrets(self._order).hide)
        return None


class PreviewWorkflow(Workflow):
    """The steps of a preview: phases run stage by stage, actions and conditions as in a run."""

    def __init__(
        self,
        order: WorkOrder,
        resolved: ResolvedFlow,
        run: RunContext,
        preview: PreviewOrder,
        on_sample: OnSample,
    ) -> None:
        super().__init__(order, resolved, run, lambda _: None)
        self._preview: Final = preview
        self._on_sample: Final = on_sample
        self._condition_records: Final[dict[str, Any]] = {}
        """By condition, the records that reach it, as one batch."""

    def _run_phase(self, number: int, step: Step, stages: list[str]) -> None:
        """Run a phase.

        :raises StageError: when a stage has failed, once all stages that do not need its records have run.
        """
        self._refresh(step)
        given = {*self._preview.left_out, *(each.stream.stage for each in self._preview.given)}
        self._find_schemas(name for name in stages if name not in given)
        self._require_all_inputs(stages)
        self._share_connectors(self._condition_records)
        flow = self._resolved.create_phase(stages, self._live)
        runner = StageByStageRunner(
            flow,
            self._run,
            limit=self._preview.records,
            shown=self._preview.shown,
            on_sample=self._report_sample,
            given=self._list_given(flow),
            left_out=self._preview.left_out,
            unchecked=[name for name in stages if self._resolved.has_macros(name)],
        )
        runner.run()
        self._condition_records.update(runner.connectors)
        self._count_phase(stages, runner.counts)
        for problem in runner.problems:
            error = StageError(problem.message, problem.corrective_action, stage=problem.stage)
            for line in (problem.trace or "").splitlines():
                error.add_note(line)
            raise error

    def _report_sample(self, stage: str, sample: StageSample) -> None:
        self._noticed.extend(sample.altered)
        self._on_sample(stage, sample)

    def _list_given(self, flow: Flow) -> Mapping[Stream, pa.RecordBatch]:
        entries = [
            s.name for s in flow.stages if not s.input_schemas and s.name in self._condition_records
        ]
        from_conditions = {Stream(name): self._condition_records[name] for name in entries}
        return from_conditions | encode_given_streams(flow, self._preview.given)

    def _run_control(self, step: Step, name: str) -> None:
        decided = self._preview.decisions.get(name)
        if decided is not None:
            self._share_connectors(self._condition_records)
            self._open_connections(name, decided)
        elif name in self._preview.left_out:
            self._open_connections(name)
        else:
            super()._run_control(step, name)

    def _count_phase(self, stages: list[str], counts: dict[str, RecordCounts]) -> None:
        for name in self._route.list_exits(stages):
            if name in counts:
                counts[name].out = counts[name].in_
        self._report_counts(counts)


@contextmanager
def _set_properties(spark: SparkSession, properties: Mapping[str, str]) -> Iterator[None]:
    """Set the properties of one pipeline for the duration of a block."""
    before = {}
    for key, value in properties.items():
        try:
            before[key] = spark.conf.get(key, None)
            spark.conf.set(key, value)
        except Exception as error:  # as in a run
            first = str(error).splitlines()[0]
            _LOG.warning("Engine property '%s' cannot be set for a run: %s", key, first)
            before.pop(key, None)
    try:
        yield
    finally:
        for key, old in before.items():
            spark.conf.unset(key) if old is None else spark.conf.set(key, old)


def _watch_owner() -> None:
    """Stop this process when its owner closes the other end of its input: nobody could ask for the
    records then.
    """

    def wait_for_end() -> None:
        while os.read(0, 4096):
            pass
        interrupt_this_process()
        time.sleep(_GRACE_S)
        os._exit(1)  # a plugin blocks the stop

    threading.Thread(target=wait_for_end, name="owner", daemon=True).start()
