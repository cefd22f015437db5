"""The driver of a job: carries out its work order from the start to the end.

A job works with a :class:`localcdap.api.app.jobs.JobContext`. Its input are the records of a pipeline, as
they reach its only sink.
"""

from __future__ import annotations

import contextlib
import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.app.jobs import SystemJob
from localcdap.api.app.transactions import TransactionRunner
from localcdap.api.errors import BadRequestError, LocalcdapError, NotFoundError, PluginError
from localcdap.api.security import Principal
from localcdap.artifacts.loading import load_application, to_plugin_error, user_frames
from localcdap.decoders import decode_json
from localcdap.engine.driver.execution import prepare_plans
from localcdap.engine.driver.progress_report import ProgressReport, create_status
from localcdap.engine.driver.run_driver import RunDriver
from localcdap.engine.messages.orders import JobOrder, WorkOrder
from localcdap.engine.messages.spool import (
    Failed,
    JobReported,
    JobReturned,
    RecordCounts,
    RunStatus,
)
from localcdap.engine.plan.contexts import RunContext
from localcdap.engine.plan.planner import plan_flow
from localcdap.engine.plan.resolution import ResolvedFlow
from localcdap.engine.plan.spark_errors import explain_spark_error, get_condition
from localcdap.messaging.consumer import SpoolWriter
from localcdap.processes.limits import limit_memory
from localcdap.security.principals import act_as

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class JobInput:
    """A planned pipeline; nothing is read before the first action on its records.

    :raises BadRequestError: when the pipeline has other stages than those of one phase with one sink.
    :raises StageError: when a stage cannot be planned, or its schema differs from the propagated one.
    """

    def __init__(self, resolved: ResolvedFlow, run: RunContext) -> None:
        steps = resolved.route.steps
        if len(steps) != 1 or not steps[0].is_phase or resolved.ending_actions:
            raise BadRequestError(
                "The pipeline of a job's input has actions, conditions or separate parts.",
                "Use connected sources and transforms, and one sink.",
            )
        self._flow = resolved.create_phase(steps[0].stages, resolved.route.connections)
        self._plan = plan_flow(self._flow, run, counts=True)
        if len(self._plan.sinks) != 1:
            self.release()
            raise BadRequestError("The pipeline of a job's input has several sinks.", "Use one.")
        prepare_plans([self._plan], self._plan.checks)

    @property
    def frame(self) -> DataFrame:
        """The records that reach the sink."""
        return self._plan.sinks[0].frame

    def count(self) -> dict[str, RecordCounts]:
        """Return the counts of each stage; they wait for the first action on the records."""
        return {} if self._plan.counter is None else self._plan.counter.get_totals(self._flow)

    def release(self) -> None:
        """Release what Spark keeps."""
        for frame in self._plan.persisted:
            with contextlib.suppress(Exception):  # the engine may be gone
                frame.unpersist()


class JobRunContext:
    """The context of one job in its process."""

    def __init__(
        self,
        order: WorkOrder,
        job: JobOrder,
        run: RunContext,
        transactions: TransactionRunner,
        input: JobInput | None,
        spool: SpoolWriter,
    ) -> None:
        self.id = order.run_id
        self.namespace = job.namespace
        self.arguments = job.arguments
        self.spark = run.spark
        self.is_remote = order.remote
        self.transactions = transactions
        self.logger = logging.getLogger("localcdap.job")
        self._job: Final = job
        self._folder: Final = Path(job.folder)
        self._input: Final = input
        self._spool: Final = spool

    def open_folder(self) -> Path:
        """Return the application's folder of the namespace.

        :raises NotFoundError: when it was removed, with the namespace.
        """
        if not self._folder.is_dir():
            raise NotFoundError(f"Namespace '{self.namespace.name}' was deleted.")
        return self._folder

    def read_input(self) -> DataFrame:
        """Return the records of the job's pipeline.

        :raises BadRequestError: when it has none.
        """
        return self._require_input().frame

    def count_input(self) -> dict[str, dict[str, int]]:
        """Return the counts of the stages of the pipeline."""
        return {
            name: {"in": each.in_, "out": each.out, "error": each.error}
            for name, each in self._require_input().count().items()
        }

    def report(self, message: str, fraction: float | None = None) -> None:
        """Say what the job does at the moment."""
        self._spool.append(JobReported(message, fraction))

    def encode_result(self, result: Any) -> Any:
        """Return the result of the job as plain values.

        :raises BadRequestError: when JSON cannot represent it.
        """
        try:
            return decode_json(msgspec.json.encode(result))
        except (TypeError, ValueError) as error:
            raise BadRequestError(
                f"The result of job '{self._job.job}' is not JSON: {error}."
            ) from None

    def _require_input(self) -> JobInput:
        if self._input is None:
            raise BadRequestError(f"Job '{self._job.job}' was submitted without a pipeline.")
        return self._input


_LOG: Final = logging.getLogger("localcdap.engine")


class JobDriver(RunDriver):
    """Carries out the order of a job, which reports through the spool as a run does."""

    def __init__(self, run_directory: Path, order: WorkOrder, job: JobOrder) -> None:
        super().__init__(run_directory, order)
        self._job: Final = job
        self._resolved: ResolvedFlow | None = None
        self._input: JobInput | None = None

    def _execute(self, spool: SpoolWriter) -> RunStatus:
        job = self._job
        limit_memory(job.memory_mb)
        work, run = self._prepare(spool)
        progress = ProgressReport(spool)
        run.spark.registerProgressHandler(progress)
        with self._listen_to_tasks(run, spool, progress):
            if self._resolved is not None:
                with act_as(Principal(job.user) if job.user else None):
                    self._input = JobInput(self._resolved, run)
            spool.append(create_status(RunStatus.RUNNING))
            transactions = self._transactions.open(job.job)
            context = JobRunContext(self._order, job, run, transactions, self._input, spool)
            result = context.encode_result(self._call(partial(work.run, context)))
        self._cancellation.disarm()
        spool.append(JobReturned(result), create_status(RunStatus.COMPLETED), durable=True)
        return RunStatus.COMPLETED

    def _prepare(self, spool: SpoolWriter) -> tuple[SystemJob, RunContext]:
        """Load the job and resolve the pipeline of its input, while the session is opened."""
        if not self._order.document:
            return self._connect_during(self._load)
        resolved, run = self._resolve()
        self._resolved = resolved
        run.metadata = self._create_metadata(spool)
        if self._order.remote:
            self._prepare_cluster(run)
        elif resolved.has_python_stages:
            self._workers.start(run.spark)
        return self._load(), run

    def _load(self) -> SystemJob:
        ref = self._job.application
        try:
            jobs = load_application(ref).jobs
        except (Exception, SystemExit) as error:
            raise to_plugin_error(self._describe(), error, Path(ref.path)) from error
        for cls in jobs:
            if cls.name == self._job.job:
                return cls()
        raise NotFoundError(
            f"{self._describe()} is not in this version of the application any more."
        )

    def _call(self, work: partial[object]) -> object:
        """Run code of the application.

        :raises PluginError: when it raises, unless what it raised says already what is wrong.
        """
        try:
            return work()
        except LocalcdapError:
            raise
        except MemoryError as error:
            raise PluginError(
                f"{self._describe()} needs more than {self._job.memory_mb} MiB in its process.",
                "Raise app.job_memory_mb in localcdap.toml, or the limit of this job.",
            ) from error
        except Exception as error:
            path = Path(self._job.application.path)
            if get_condition(error) is None:
                raise to_plugin_error(self._describe(), error, path) from error
            message, action, _ = explain_spark_error(error)
            frames = user_frames(error, path)
            raise PluginError(f"{self._describe()}: {message}", action, traceback=frames) from error

    def _describe(self) -> str:
        return f"Job '{self._job.job}' of application '{self._job.application.application.name}'"

    def _undo(self, spool: SpoolWriter, end: RunStatus, reasons: list[Failed]) -> RunStatus:
        """Report the end. A job removes itself what it has left behind."""
        self._cancellation.ignore()
        for failed in reasons:
            _LOG.error("%s", failed.message)
        spool.append(*reasons, create_status(end), durable=True)
        return end

    def _leave_engine(self) -> None:
        if self._input is not None:
            self._input.release()
        super()._leave_engine()
