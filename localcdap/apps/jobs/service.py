"""The service of jobs: their queue, and what is known about each."""

from __future__ import annotations

import json
import shutil
import threading
import time
import uuid
from collections.abc import Sequence
from typing import Final

from localcdap.api.app.jobs import JobDetail, JobLogLine, JobRequest
from localcdap.api.errors import InvalidPipelineError, NotFoundError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission
from localcdap.apps.jobs.process import JobEffects, JobLauncher, WatchedJob
from localcdap.apps.jobs.records import JobRecords, QueuedJob, StoredJob
from localcdap.artifacts.model import ApplicationRef
from localcdap.engine.messages.spool import RunStatus
from localcdap.messaging.topics import Topics
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.document.reader import read_document
from localcdap.runs.model import get_now
from localcdap.runs.startup.new_run import create_error_for_caller
from localcdap.runs.startup.processes import has_order, remove_process
from localcdap.runs.watcher import RunWatcher
from localcdap.security.access import Target, of_namespace, requires
from localcdap.store.store import Store, Transaction

_OF_JOB: Final = Target(
    "namespace of job {id}",
    lambda service, given: [MetadataEntity.of_namespace(service.get(given["id"]).namespace)],
)
_POLL_S: Final = 0.05


class JobService:
    """The jobs of an instance. Threads may share it.

    :param launcher: gives jobs their processes.
    :param at_once: the most jobs that run at the same time; the others wait.
    :param memory_mb: the memory limit of the process of a job that asks for no other one.
    """

    def __init__(
        self,
        store: Store,
        topics: Topics,
        namespaces: NamespaceService,
        launcher: JobLauncher,
        *,
        at_once: int,
        memory_mb: int,
    ) -> None:
        self._store = store
        self._namespaces = namespaces
        self._launcher = launcher
        self._at_once = at_once
        self._memory_mb = memory_mb
        self._records = JobRecords(store, topics, namespaces)
        self._watch: RunWatcher[WatchedJob] = RunWatcher()
        self._turn = threading.RLock()
        """Held while jobs leave the queue."""
        self._changed = threading.Condition()
        self._changes = 0
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)
        namespaces.register_resource(
            NamespaceResource(
                "jobs", self._list_blockers, self._end_all, remove=self._records.remove_all
            )
        )

    def submit(self, app: ApplicationRef, request: JobRequest, user: str = "") -> str:
        """Put a job into the queue, and return its id.

        :param user: as whom its input is read; "" for localcdap itself.
        :raises NotFoundError: when the application has no such job, or there is no such namespace or profile.
        :raises DocumentError: when its pipeline is none.
        :raises InvalidPipelineError: when its pipeline has failures.
        """
        name = app.application.name
        if request.job not in app.application.jobs:
            known = ", ".join(app.application.jobs) or "none"
            raise NotFoundError(f"Application '{name}' has no job '{request.job}'; jobs: {known}.")
        namespace = self._namespaces.describe(request.namespace)
        document = "" if request.pipeline is None else json.dumps(request.pipeline)
        if document:
            resolved = self._launcher.resolve(request.namespace, read_document(document))
            if resolved.errors:
                raise InvalidPipelineError(
                    create_error_for_caller(resolved).message
                    + "".join(f"\n{each.full_message}" for each in resolved.errors)
                )
        detail = JobDetail(
            str(uuid.uuid1()),
            name,
            request.job,
            request.namespace,
            request.title or request.job,
            RunStatus.PENDING,
            get_now(),
            self._launcher.choose_profile(request.namespace, request.profile),
            request.arguments,
        )
        memory_mb = request.memory_mb or self._memory_mb
        self._records.add(StoredJob(detail, namespace.generation, memory_mb, document, user))
        self._announce()
        return detail.id

    @requires(_OF_JOB)
    def get(self, id: str) -> JobDetail:
        """Return a job.

        :raises NotFoundError: when there is none of this id.
        """
        job = self._records.find(id)
        if job is None:
            raise NotFoundError(
                f"There is no job '{id}'.", "It may be older than those that are kept."
            )
        if job.detail.status != RunStatus.PENDING:
            return job.detail
        listed = self._records.list_details(job.detail.namespace, job.detail.application)
        return next((each for each in listed if each.id == id), job.detail)

    @requires(of_namespace())
    def list_jobs(self, namespace: str, application: str | None = None) -> list[JobDetail]:
        """Return the jobs for a namespace, newest first.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        return self._records.list_details(namespace, application)

    @requires(_OF_JOB)
    def read_log(self, id: str, after: int = 0) -> list[JobLogLine]:
        """Return the lines of the log of a job after a line."""
        self.get(id)
        return self._records.read_log(id, after)

    @requires(_OF_JOB)
    def wait(self, id: str, timeout_s: float) -> JobDetail:
        """Return a job when it has ended, or after the timeout as it is then."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while True:
                detail = self.get(id)
                left = deadline - time.monotonic()
                if detail.has_ended or left <= 0 or self._closed:
                    return detail
                self._changed.wait(min(left, 1.0))

    @requires(_OF_JOB, Permission.EXECUTE)
    def stop(self, id: str) -> JobDetail:
        """Stop a job, in the queue too; do nothing when it has ended. It ends some moments later.

        :raises NotFoundError: when there is no such job.
        """
        with self._turn:
            self.get(id)
            effects, watched = JobEffects(self._store, self._records, id), self._watch.find(id)
            if watched is not None:
                effects.mark_stopping()
                watched.stop()
            elif self._is_waiting(id):
                effects.end(RunStatus.KILLED)
        self._announce()
        return self.get(id)

    def resume(self) -> None:
        """Watch the jobs that an earlier host has started, and take up the queue."""
        for each in self._records.list_active():
            if each.process is None:
                continue
            id, directory = each.job.detail.id, self._launcher.get_directory(each.job.detail.id)
            if has_order(directory):
                self._watch.add(self._make_watched(id, each))
            else:
                # Its host was killed before it gave the order: nothing of the job has begun.
                remove_process(each.process, directory)
                self._records.set_process(id, None)
        self._thread.start()

    def are_waiting(self) -> bool:
        """Whether a job waits in the queue, or for Spark: only a host can start it."""
        return self._launcher.threads.are_active() or any(
            each.process is None for each in self._records.list_active()
        )

    def are_active(self) -> bool:
        """Whether a job has not ended."""
        return bool(self._records.list_active())

    def close(self) -> None:
        """Stop to start jobs. Those that have begun go on; the next host takes up the queue."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()
        self._launcher.threads.finish()
        self._watch.close()

    def _work(self) -> None:
        seen = -1
        while True:
            with self._changed:
                self._changed.wait_for(lambda seen=seen: self._closed or self._changes != seen)  # type: ignore[misc]
                if self._closed:
                    return
                seen = self._changes
            with self._turn:
                self._start_waiting()

    def _start_waiting(self) -> None:
        active = self._records.list_active()
        free = self._at_once - sum(each.process is not None for each in active)
        for each in [each for each in active if each.process is None][: max(0, free)]:
            id = each.job.detail.id
            shutil.rmtree(self._launcher.get_directory(id), ignore_errors=True)
            process = self._launcher.make_process(id)
            if not self._records.set_process(id, process.identity):
                process.cancel()
                continue
            each.process = process.identity
            watched = self._make_watched(id, each)
            self._watch.add(watched)
            self._launcher.launch(each.job, process, watched, self._has_begun)

    def _make_watched(self, id: str, queued: QueuedJob) -> WatchedJob:
        assert queued.process is not None
        directory = self._launcher.get_directory(id)
        return WatchedJob(self._store, self._records, id, queued.process, directory, self._announce)

    def _has_begun(self, id: str) -> bool:
        job = self._records.find(id)
        return job is None or job.detail.status != RunStatus.PENDING

    def _is_waiting(self, id: str) -> bool:
        return any(
            each.job.detail.id == id and each.process is None
            for each in self._records.list_active()
        )

    def _list_blockers(self, tx: Transaction, namespace: str) -> Sequence[str]:
        active = self._records.list_active_in(tx, namespace)
        return [f"job {id} of application '{application}'" for id, application in active]

    def _end_all(self, namespace: str) -> None:
        """Stop the jobs of a namespace, those that wait first, and wait until they have ended."""
        for id in reversed(self._list_active_in(namespace)):
            self.stop(id)
        while self._list_active_in(namespace):
            time.sleep(_POLL_S)

    def _list_active_in(self, namespace: str) -> list[str]:
        with self._store.snapshot() as tx:
            return [id for id, _ in self._records.list_active_in(tx, namespace)]

    def _announce(self) -> None:
        with self._changed:
            self._changes += 1
            self._changed.notify_all()
