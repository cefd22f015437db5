"""Schedules without a host: a database, pipelines, a clock of the test, and runs that are records."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from localcdap.api.app.events import RunStatusChanged
from localcdap.api.failures import ArtifactId
from localcdap.api.pipeline import PipelineSpec, Resources
from localcdap.engine.messages.spool import RunStatus
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.library import application_records
from localcdap.pipeline.library.application_model import Application, ChangeDetail
from localcdap.runs.model import Run, RunRequest
from localcdap.runs.records import RunRecords
from localcdap.schedules.changes import DeploymentObserver, ScheduleChanges, ScheduleListener
from localcdap.schedules.jobs import ScheduleJob
from localcdap.schedules.model import Schedule, ScheduleEvent, ScheduleRequest, TimeTrigger, Trigger
from localcdap.schedules.scheduler import Launcher, Scheduler
from localcdap.schedules.service import ScheduleService
from localcdap.security.principals import get_current_user
from localcdap.store.store import Store
from localcdap.testing.instance import put_new_database
from tests.runs.stored_runs import GONE, make_run

SPEC = PipelineSpec(
    [], [], Resources(1, 1), Resources(1, 1), Resources(1, 1), True, True, 100, {}, [], "spark"
)
DATABASE = "localcdap.duckdb"
MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
START = 1_795_780_800_000
"""Friday 2026-11-27 12:00:00 UTC."""


class Bench:
    """See the module. The scheduler's threads are not started: tests call what these call."""

    def __init__(self, folder: Path, *, catches_up: bool = False) -> None:
        self.folder = folder
        self.catches_up = catches_up
        self.now = START
        self.started: list[RunRequest] = []
        self.users: list[str | None] = []
        """As whom they were started."""
        self.failure: Exception | None = None
        put_new_database(folder / DATABASE)
        self.open()

    def open(self) -> None:
        """Open the database, as the next host does."""
        self.store = Store(self.folder / DATABASE)
        self.topics = Topics(self.store)
        self.namespaces = NamespaceService(self.store, self.topics)
        self.records = RunRecords(self.store, self.topics, self.namespaces)
        launcher = Launcher(
            self._start, self.records.get, self.records.read_document_text, self._find
        )
        self.scheduler = Scheduler(
            self.store, launcher, catches_up=self.catches_up, now=lambda: self.now
        )
        self.changes = ScheduleChanges(self.topics, self.scheduler.note_change, lambda: self.now)
        self.service = ScheduleService(
            self.store, self.namespaces, self.changes, now=lambda: self.now
        )
        self.observer = DeploymentObserver(self.changes)
        self.topics.add_observer(self.observer.observe)
        self.listener = ScheduleListener(self.scheduler.note_change, lambda: self.now)

    def close(self) -> None:
        self.store.close()

    def deploy(self, name: str = "p", document: dict[str, Any] | None = None) -> Application:
        """Store a version of a pipeline as a deployment does."""
        from localcdap.api.app.events import EntityCreated
        from localcdap.api.metadata import MetadataEntity

        found = document or {"name": name, "config": {"stages": [], "connections": []}}
        with self.store.transaction() as tx:
            before = application_records.list_versions(tx, "default", name)
            application = Application(
                "default",
                name,
                str(uuid.uuid1()),
                len(before) + 1,
                None,
                ArtifactId("cdap-data-pipeline", "6.10.0", "SYSTEM"),
                ChangeDetail("a", None, self.now, True),
            )
            application_records.add(tx, application, json.dumps(found), SPEC)
            entity = MetadataEntity.of_application(name, "default")
            self.topics.publish_entity_event(tx, EntityCreated, entity)
        return application

    def undeploy(self, name: str) -> None:
        from localcdap.api.app.events import EntityDeleted
        from localcdap.api.metadata import MetadataEntity

        with self.store.transaction() as tx:
            application_records.remove(tx, "default", name)
            entity = MetadataEntity.of_application(name, "default")
            self.topics.publish_entity_event(tx, EntityDeleted, entity)

    def add(
        self,
        trigger: Trigger | str,
        *,
        name: str = "s",
        application: str = "p",
        enabled: bool = True,
        **more: Any,
    ) -> Schedule:
        """Make a schedule, and enable it."""
        chosen = TimeTrigger(trigger, "UTC") if isinstance(trigger, str) else trigger
        made = self.service.add("default", application, name, ScheduleRequest(chosen, **more))
        return self.service.enable("default", application, name) if enabled else made

    def tick(self, milliseconds: int = 0) -> list[RunRequest]:
        """Let time pass at once, and the scheduler act; return the runs that it has started."""
        self.now += milliseconds
        before = len(self.started)
        self.scheduler.tick()
        self.scheduler.run_jobs()
        return self.started[before:]

    def publish(self, event: Any) -> None:
        """Deliver an event as the dispatcher does."""
        with self.store.transaction() as tx:
            self.listener.on_event(event, tx)

    def end_run(
        self,
        pipeline: str = "p",
        status: RunStatus = RunStatus.COMPLETED,
        *,
        deployed: bool = True,
        document: str | None = None,
        **more: Any,
    ) -> Run:
        """Store a run that has ended, and deliver its event."""
        run = self.store_run(pipeline, status, document=document, **more)
        self.publish(
            RunStatusChanged(
                "default",
                pipeline,
                run.run,
                status,
                self.now,
                application_version="1" if deployed else None,
                program="DataPipelineWorkflow",
                program_type="Workflow",
            )
        )
        return run

    def store_run(
        self, pipeline: str, status: RunStatus, *, document: str | None = None, **more: Any
    ) -> Run:
        run = make_run(pipeline, status, **{"starting": self.now} | more)
        run.application_version = "1"
        self.records.add(run, GONE, document or "{}")
        return run

    def list_jobs(self) -> list[ScheduleJob]:
        return self.service.list_jobs("default")

    def list_events(self) -> list[ScheduleEvent]:
        """What became of triggers, oldest first."""
        return self.service.list_events("default")[::-1]

    def _start(self, request: RunRequest) -> Run:
        if self.failure is not None:
            raise self.failure
        run = make_run(request.application, RunStatus.RUNNING, starting=self.now)
        run.run, run.application_version = request.run, request.application_version
        self.records.add(run, GONE, "{}")
        self.started.append(request)
        self.users.append(get_current_user())
        return run

    def _find(self, namespace: str, name: str) -> tuple[str, str]:
        with self.store.snapshot() as tx:
            found = application_records.find(tx, namespace, name)
            return found.version, application_records.read_document_text(tx, found)
