"""What acts while a host is up: one thread watches the clock, another one checks constraints and starts runs.

Only the host of an instance has it, and an instance has one host.

Starts the runs of jobs (CDAP 6 ``ScheduleTaskRunner``): once for each job, whatever is killed meanwhile.

The id of the run is stored with the job before the run is started. A host that finds such a job asks whether
there is a run of that id.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from typing import Final, NamedTuple

from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.api.security import SYSTEM_PRINCIPAL, Principal
from localcdap.pipeline.macros.parser import LOGICAL_START_TIME
from localcdap.runs.model import Run, RunRequest, ScheduledStart
from localcdap.schedules import jobs, records, times
from localcdap.schedules.constraints import Verdict, check_constraints
from localcdap.schedules.jobs import JobState, ScheduleJob, add_event
from localcdap.schedules.mappings import FindRun, ReadDocument, map_arguments, read_mapping
from localcdap.schedules.model import MAPPING, EventKind, Schedule
from localcdap.schedules.triggers import find_logical_start, find_trigger_infos
from localcdap.security.principals import act_as
from localcdap.store.store import Store, Transaction

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


_TICK_S: Final = 1.0
"""How often the clock is looked at: it may be changed, and the machine may sleep."""
_CLOCK_MS: Final = 60_000
"""A clock that goes back by more than this was put back."""
_ZONE_EVERY: Final = 60
"""Ticks after which the zone of the machine is read again."""
_RETRY_S: Final = 5.0


class Scheduler:
    """Starts the runs of schedules. Threads may share it.

    :param catches_up: whether the last missed time of a schedule is made up for.
    :param now: returns the time in milliseconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        launcher: Launcher,
        *,
        catches_up: bool = False,
        now: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._store = store
        self._launcher = launcher
        self._catches_up = catches_up
        self._now = now
        self._changed = threading.Condition()
        self._changes = 0
        """The number of changes of schedules and jobs."""
        self._closed = False
        self._due: int | None = None
        """The next time at which any schedule is due."""
        self._due_after = -1
        """The number of changes after which that was read."""
        self._has_waiting = False
        """Whether a job waits, so that it is to be checked again without a change."""
        self._last = 0
        self._ticks = 0
        self._threads = [
            threading.Thread(target=self._watch, name="schedule-clock", daemon=True),
            threading.Thread(target=self._work, name="schedule-jobs", daemon=True),
        ]

    def start(self) -> None:
        """Begin to act."""
        for each in self._threads:
            each.start()

    def close(self) -> None:
        """Stop to act; a run that is being started is waited for."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for each in self._threads:
            if each.is_alive():
                each.join()

    def note_change(self) -> None:
        """Look at the times and jobs again: schedules were changed, or triggered."""
        with self._changed:
            self._changes += 1
            self._changed.notify_all()

    def tick(self) -> None:
        """Let schedules that are due have jobs. The thread of the clock calls this each second."""
        now, changes = self._now(), self._changes
        self._ticks += 1
        was_put_back = now < self._last - _CLOCK_MS
        self._last = now
        if was_put_back or self._ticks % _ZONE_EVERY == 1:
            with self._store.transaction() as tx:
                if times.correct(tx, now):
                    _LOG.warning(
                        "The times of schedules were computed again: the clock has changed."
                    )
                    self._due_after = -1
        if self._due_after != changes:
            with self._store.snapshot() as tx:
                self._due = times.find_first(tx)
            self._due_after = changes
        if self._due is None or self._due > now:
            return
        with self._store.transaction() as tx:
            times.fire(tx, now, catches_up=self._catches_up)
            self._due = times.find_first(tx)
        self.note_change()

    def run_jobs(self) -> None:
        """Check all jobs, and start the runs of those that may start. The thread of the jobs calls this."""
        with self._store.snapshot() as tx:
            found = jobs.list_jobs(tx)
            keys = list(dict.fromkeys(each.key for each in found))
            schedules = {
                (each.namespace, each.application, each.name): each
                for each in records.list_all(tx, keys)
            }
            now = self._now()
            ready = [
                job for job in found if decide(tx, schedules.get(job.key), job, now) is not WAIT
            ]
        self._has_waiting = len(ready) < len(found)
        for job in ready:
            if self._closed:
                return
            with self._store.transaction() as tx:
                started = self._apply(tx, job.generation)
            if started is not None:
                self._launch(*started)

    def _watch(self) -> None:
        while not self._closed:
            seen = self._changes
            pause = self._attempt(self.tick)
            self._wait(seen, pause)

    def _work(self) -> None:
        while not self._closed:
            seen = self._changes
            pause = self._attempt(self.run_jobs)
            self._wait(seen, pause if self._has_waiting else None)

    def _wait(self, seen: int, timeout_s: float | None) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._changes != seen, timeout_s)

    def _attempt(self, act: Callable[[], None]) -> float:
        """Call a function; return the seconds until the next call."""
        try:
            act()
        except LocalcdapError as error:  # a full disk may have space the next time
            _LOG.warning("schedules: %s", error)
            self._has_waiting = True
            return _RETRY_S
        return _TICK_S

    def _apply(self, tx: Transaction, generation: int) -> tuple[Schedule, ScheduleJob] | None:
        """Drop a job or mark it as being launched; return it then, with its schedule."""
        job = jobs.find(tx, generation)
        if job is None:
            return None
        schedule, now = records.find(tx, *job.key), self._now()
        decision = decide(tx, schedule, job, now)
        if decision is WAIT:
            # Another run has begun since the first look.
            self._has_waiting = True
        elif decision is LAUNCH:
            assert schedule is not None
            if job.state is not JobState.PENDING_LAUNCH:
                job.state, job.run = JobState.PENDING_LAUNCH, str(uuid.uuid1())
                jobs.save(tx, job)
            return schedule, job
        else:
            jobs.remove(tx, job)
            if schedule is not None:
                add_event(tx, schedule, now, decision.kind, decision.message)
        return None

    def _launch(self, schedule: Schedule, job: ScheduleJob) -> None:
        kind, message = self._launcher.launch(schedule, job)
        run = job.run if kind is EventKind.STARTED else None
        with self._store.transaction() as tx:
            jobs.remove(tx, job)
            add_event(tx, schedule, self._now(), kind, message, run)


class Decision(NamedTuple):
    """What is to be done with a job, and what is stored of it when it is dropped."""

    action: str
    kind: EventKind = EventKind.DROPPED
    message: str = ""


WAIT: Final = Decision("wait")
LAUNCH: Final = Decision("launch")


def decide(tx: Transaction, schedule: Schedule | None, job: ScheduleJob, now: int) -> Decision:
    """Return what is to be done with a job (CDAP 6 ``ConstraintCheckerService.checkAndUpdateJob``).

    :param schedule: None when it was deleted.
    :param now: milliseconds since 1970.
    """
    if schedule is None:
        return Decision("drop")
    if job.state is JobState.PENDING_LAUNCH:
        return LAUNCH
    obsolete = jobs.find_obsolescence(job, schedule, now)
    if obsolete is not None:
        return Decision("drop", *obsolete)
    if job.state is JobState.PENDING_TRIGGER:
        return WAIT
    verdict, reason = check_constraints(tx, schedule, job, now)
    if verdict is Verdict.NEVER_SATISFIED:
        return Decision("drop", message=f"No run was started: {reason}.")
    return LAUNCH if verdict is Verdict.SATISFIED else WAIT
