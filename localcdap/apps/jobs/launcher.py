"""Gives jobs their processes and orders, in a thread each: Spark may take long to start."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from localcdap.api.app.namespaces import NamespaceSummary
from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.apps.files import AppFiles
from localcdap.apps.jobs.process import WatchedJob
from localcdap.apps.jobs.records import StoredJob
from localcdap.artifacts.model import ApplicationRef, PluginRef
from localcdap.artifacts.service import ArtifactService
from localcdap.engine.messages.orders import JobOrder, WorkOrder
from localcdap.engine.messages.spool import RunStatus
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.processes.identity import is_alive
from localcdap.runs.model import get_now
from localcdap.runs.startup.new_run import create_error_for_run
from localcdap.runs.startup.processes import RunProcess
from localcdap.runs.startup.provisioners import Provisioners
from localcdap.runs.startup.starter import OrderThreads, send_order

_POLL_S: Final = 0.05


class JobLauncher:
    """Launches jobs. Threads may share it.

    :param home: the instance's folder.
    :param directory: of the sub-directories of jobs.
    :param engine: directory of the local engine.
    """

    def __init__(
        self,
        namespaces: NamespaceService,
        artifacts: ArtifactService,
        resolver: PipelineResolver,
        provisioners: Provisioners,
        files: AppFiles,
        *,
        home: Path,
        directory: Path,
        engine: Path,
    ) -> None:
        self._namespaces = namespaces
        self._artifacts = artifacts
        self._resolver = resolver
        self._provisioners = provisioners
        self._files = files
        self._home = home
        self._directory = directory
        self._engine = engine
        self.threads: Final = OrderThreads()

    def choose_profile(self, namespace: str, asked: str | None) -> str:
        """Return the compute profile of a job.

        :raises NotFoundError: when there is no such profile.
        """
        environment = self._resolver.environments.create(namespace)
        preferences = environment.merge_arguments(None, {})
        return self._provisioners.profiles.choose_profile(
            namespace, arguments={}, asked=asked, preferences=preferences
        )

    def resolve(self, namespace: str, document: PipelineDocument) -> ResolvedPipeline:
        """Validate the pipeline of a job's input."""
        environment = self._resolver.environments.create(namespace)
        arguments = environment.merge_arguments(None, {})
        return self._resolver.resolve_for_run(document, environment, arguments)

    def get_directory(self, id: str) -> Path:
        """Return the directory of the process of a job."""
        return self._directory / id

    def make_process(self, id: str) -> RunProcess:
        """Start the process of a job, which waits for its order."""
        return RunProcess(self._directory, self._engine, id)

    def launch(
        self,
        job: StoredJob,
        process: RunProcess,
        watched: WatchedJob,
        has_begun: Callable[[str], bool],
    ) -> None:
        """Let a thread send the order of a job to its process."""
        self.threads.start(partial(self._send_order, job, process, watched, has_begun))

    def _send_order(
        self,
        job: StoredJob,
        process: RunProcess,
        watched: WatchedJob,
        has_begun: Callable[[str], bool],
    ) -> None:
        def wait_for_lease(id: str, process: RunProcess) -> None:
            while not has_begun(id) and is_alive(process.identity):
                time.sleep(_POLL_S)

        try:
            order = self._create_order(job)
            send_order(process, order, self._provisioners.get(job.detail.profile), wait_for_lease)
        except LocalcdapError as error:
            watched.effects.end(RunStatus.FAILED, error)
            process.cancel()
        except FileNotFoundError:  # the job was stopped meanwhile, and its directory removed
            process.cancel()

    def _create_order(self, job: StoredJob) -> WorkOrder:
        """Return the order of a job, in which the engine's address is missing.

        :raises LocalcdapError: when what it needs is not there any more.
        """
        detail = job.detail
        namespace = self._namespaces.describe(detail.namespace)
        summary = NamespaceSummary(namespace.name, namespace.description, namespace.generation)
        text, plugins = self._write_out(detail.namespace, job.document)
        return WorkOrder(
            run_id=detail.id,
            namespace=detail.namespace,
            pipeline=detail.title,
            document=text,
            plugins=plugins,
            arguments=self._resolver.environments.create(detail.namespace).merge_arguments(
                None, {}
            ),
            logical_start_ms=get_now(),
            engine_url="",
            base_directory=str(self._home),
            host_directory=str(self._home),
            job=JobOrder(
                self._find_application(detail.application),
                detail.job,
                detail.arguments,
                job.memory_mb,
                str(self._files.open_folder(detail.application, detail.namespace)),
                summary,
                job.user,
            ),
        )

    def _write_out(self, namespace: str, text: str) -> tuple[str, dict[str, PluginRef]]:
        """Return the document of the input without plugin templates, and its plugins."""
        if not text:
            return "", {}
        document = read_document(text)
        resolved = self.resolve(namespace, document)
        if resolved.errors:
            raise create_error_for_run(resolved)
        written, _ = self._resolver.environments.create(namespace).write_out_templates(document)
        return written, resolved.plugins

    def _find_application(self, name: str) -> ApplicationRef:
        for each in self._artifacts.list_applications():
            if each.application.name == name:
                return each
        raise NotFoundError(f"There is no application '{name}' any more.")
