"""Starts the runs of jobs (CDAP 6 ``ScheduleTaskRunner``): once for each job, whatever is killed meanwhile.

The id of the run is stored with the job before the run is started. A host that finds such a job asks whether
there is a run of that id.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.api.security import SYSTEM_PRINCIPAL, Principal
from localcdap.pipeline.macros.functions import LOGICAL_START_TIME
from localcdap.runs.model import Run, RunRequest, ScheduledStart
from localcdap.schedules.jobs import ScheduleJob
from localcdap.schedules.mappings import FindRun, ReadDocument, map_arguments, read_mapping
from localcdap.schedules.model import MAPPING, EventKind, Schedule
from localcdap.schedules.triggers import find_logical_start, find_trigger_infos
from localcdap.security.principals import act_as

_LOG: Final = logging.getLogger(__name__)
StartRun = Callable[[RunRequest], Run]
"""Starts a run, after a check that the current principal may."""
FindPipeline = Callable[[str, str], tuple[str, str]]
"""Returns the latest version of a deployed pipeline and its document, by namespace and name; raises
NotFoundError."""


class Launcher:
    """Starts the runs of jobs. Threads may share it."""

    def __init__(
        self,
        start_run: StartRun,
        find_run: FindRun,
        read_run_document: ReadDocument,
        find_pipeline: FindPipeline,
    ) -> None:
        self._start_run = start_run
        self._find_run = find_run
        self._read_run_document = read_run_document
        self._find_pipeline = find_pipeline

    def launch(self, schedule: Schedule, job: ScheduleJob) -> tuple[EventKind, str]:
        """Start the run of a job, unless it was started before; return what became of it, in a sentence."""
        assert job.run is not None
        if self._is_started(job.run):
            return EventKind.STARTED, "A run was started."
        principal = SYSTEM_PRINCIPAL if schedule.user is None else Principal(schedule.user)
        try:
            with act_as(principal):
                request, problems = self._build_request(schedule, job)
                run = self._start_run(request)
        except LocalcdapError as error:
            if self._is_started(
                job.run
            ):  # the record of a deployed pipeline that cannot start any more
                return EventKind.STARTED, f"A run was started, and failed: {error.message}"
            action = f" {error.corrective_action}" if error.corrective_action else ""
            return EventKind.FAILED, f"No run could be started: {error.message}{action}"
        except Exception as error:
            _LOG.exception("the run of schedule %s cannot be started", job.key)
            return EventKind.FAILED, f"No run could be started: {type(error).__name__}: {error}"
        failed = f" It failed: {run.error.message}" if run.error is not None else ""
        notes = "".join(f" {each}" for each in problems)
        return EventKind.STARTED, f"A run was started.{failed}{notes}"

    def _build_request(self, schedule: Schedule, job: ScheduleJob) -> tuple[RunRequest, list[str]]:
        """Return the request of a run, and what is missing in its arguments."""
        version, document = self._find_pipeline(schedule.namespace, schedule.application)
        infos = find_trigger_infos(schedule.trigger, job.notifications)
        logical_start = find_logical_start(schedule.trigger, job.notifications)
        arguments = {name: value for name, value in schedule.properties.items() if name != MAPPING}
        problems: list[str] = []
        if MAPPING in schedule.properties:
            given, problems = map_arguments(
                read_mapping(schedule.properties[MAPPING]),
                infos,
                self._find_run,
                self._read_run_document,
            )
            arguments |= given
        if logical_start is not None:  # the planned time wins over one in the schedule's properties
            arguments[LOGICAL_START_TIME] = str(logical_start)
        request = RunRequest(
            document,
            schedule.namespace,
            arguments=arguments,
            application=schedule.application,
            application_version=version,
            run=job.run,
            schedule=ScheduledStart(schedule.name, infos, schedule.description, logical_start),
        )
        return request, problems

    def _is_started(self, run: str) -> bool:
        try:
            self._find_run(run)
        except NotFoundError:
            return False
        return True
