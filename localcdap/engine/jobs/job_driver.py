"""The driver of a job: carries out its work order from the start to the end."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Final

from localcdap.api.app.jobs import SystemJob
from localcdap.api.errors import LocalcdapError, NotFoundError, PluginError
from localcdap.api.security import Principal
from localcdap.artifacts.loading import load_application
from localcdap.artifacts.tracebacks import to_plugin_error
from localcdap.engine.driver.progress_report import ProgressReport, create_status
from localcdap.engine.driver.run_driver import RunDriver
from localcdap.engine.jobs.job_context import JobRunContext
from localcdap.engine.jobs.job_input import JobInput
from localcdap.engine.messages.orders import JobOrder, WorkOrder
from localcdap.engine.messages.spool import Failed, JobReturned, RunStatus
from localcdap.engine.plan.contexts import RunContext
from localcdap.engine.plan.resolution import ResolvedFlow
from localcdap.messaging.spool import SpoolWriter
from localcdap.processes.limits import limit_memory
from localcdap.security.principals import act_as

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
            raise to_plugin_error(
                self._describe(), error, Path(self._job.application.path)
            ) from error

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
