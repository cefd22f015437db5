"""The service of the host for the processes of applications, besides their tables.

What applications read of the database beyond their tables: exports of rows, and the runs of before.

The metadata that system applications read and emit, as localcdap itself.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final, Protocol

from localcdap.api.app.context import ArtifactSummary, KnownRun, Message
from localcdap.api.app.events import SYSTEM_NAMESPACE, MetadataEmitted
from localcdap.api.app.exports import ExportedRows, ExportRequest
from localcdap.api.app.jobs import JobDetail, JobLogLine, JobRequest
from localcdap.api.app.namespaces import NamespaceSummary
from localcdap.api.errors import (
    BadRequestError,
    ConflictError,
    HostError,
    MacroError,
    NotFoundError,
)
from localcdap.api.metadata import MetadataEntity, MetadataOperation, ScopedMetadata
from localcdap.api.security import Permission, Principal
from localcdap.apps.files import AppFiles
from localcdap.apps.jobs.service import JobService
from localcdap.artifacts.model import ArtifactSelector, PluginRef
from localcdap.artifacts.service import ArtifactService
from localcdap.datasets.instances import DatasetService
from localcdap.datasets.model import DatasetRequest
from localcdap.messaging.service import MessagingService
from localcdap.messaging.topics import Topics
from localcdap.metadata.service import MetadataService
from localcdap.namespaces.model import Namespace
from localcdap.namespaces.preferences import PreferenceLevel, PreferenceService
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.environment import SecretsOf
from localcdap.pipeline.macros.parser import (
    MacroOptions,
    MacroParser,
    create_call,
    create_lookup,
    create_macro_functions,
)
from localcdap.pipeline.methods import MethodCall, MethodCaller
from localcdap.pipeline.validation.plugins import IndexedPlugins
from localcdap.runs.known_runs import KnownRuns
from localcdap.sandbox.plugin_calls import CallRequest, TransformRequest, TransformResult
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult
from localcdap.security.access import SwitchedAuthorizer
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.store.store import Store
from localcdap.store.structured.admin import TableAdmin
from localcdap.store.structured.exports import StructuredExports

_SERVICE: Final = "Service"


class AppMetadata:
    """Reads metadata, and publishes what applications emit. Threads may share it.

    What is emitted passes through the topic of all programs, so that it keeps its place among the operations
    on an entity.
    """

    def __init__(self, store: Store, topics: Topics, metadata: MetadataService) -> None:
        self._store = store
        self._topics = topics
        self._metadata = metadata

    def read(self, entity: MetadataEntity) -> ScopedMetadata:
        """Return the metadata of an entity; empty when it has none.

        :raises NotFoundError: when there is no such entity.
        """
        return self._metadata.get(entity)

    def emit(self, app: str, operation: MetadataOperation) -> None:
        """Publish an operation of an application."""
        program = MetadataEntity.of_program(app, _SERVICE, app, SYSTEM_NAMESPACE)
        now = time.time_ns() // 1_000_000
        with self._store.transaction() as tx:
            self._topics.publish_event(tx, MetadataEmitted(program, app, operation, now, ""))


_MOST_RUNS: Final = 10_000


class AppData:
    """Reads the database for applications. Threads may share it."""

    def __init__(self, store: Store, admin: TableAdmin) -> None:
        self._exports = StructuredExports(store, admin)
        self._runs = KnownRuns(store)

    def export(self, request: ExportRequest, file: Path) -> ExportedRows:
        """See :meth:`localcdap.store.structured.exports.StructuredExports.export`."""
        return self._exports.export(request, file)

    def list_runs(self, after: str | None, limit: int) -> list[KnownRun]:
        """Return at least one and at most 10,000 runs after a position, if there are any."""
        return self._runs.list_known(after, max(1, min(limit, _MOST_RUNS)))


class PluginCaller(Protocol):
    """Runs the code of plugins within limits; the pool of plugin workers."""

    def configure(self, request: ConfigureRequest) -> ConfigureResult: ...

    def call(self, request: CallRequest) -> bytes: ...

    def transform(self, request: TransformRequest) -> TransformResult: ...


class AppPlatform:
    """A service of the host that only processes of applications call. Threads may share it."""

    def __init__(
        self,
        namespaces: NamespaceService,
        artifacts: ArtifactService,
        preferences: PreferenceService,
        secrets: SecretsOf,
        messaging: MessagingService,
        plugins: PluginCaller,
        methods: MethodCaller,
        files: AppFiles,
        metadata: AppMetadata,
        data: AppData,
        datasets: DatasetService,
        authorizer: SwitchedAuthorizer = ALLOW_ALL,
        jobs: JobService | None = None,
    ) -> None:
        self._data = data
        self._datasets = datasets
        self._authorizer = authorizer
        self._jobs = jobs
        self._files = files
        self._metadata = metadata
        self._namespaces = namespaces
        self._artifacts = artifacts
        self._preferences = preferences
        self._secrets = secrets
        self._messaging = messaging
        self._plugins = plugins
        self._methods = methods

    def find_namespace(self, name: str) -> NamespaceSummary | None:
        """Return a namespace, or None when it does not exist."""
        try:
            return _to_summary(self._namespaces.describe(name))
        except NotFoundError:
            return None

    def enforce(self, user: str, namespace: str, permission: Permission) -> None:
        """Check that a user who calls an application has a permission on a namespace.

        :param user: "" for localcdap itself, which may do everything.
        :raises UnauthorizedError: when they have not.
        """
        if user and self._authorizer.is_enabled:
            entity = MetadataEntity.of_namespace(namespace)
            self._authorizer.enforce(Principal(user), entity, [permission])

    def list_namespaces(self) -> list[NamespaceSummary]:
        """Return all namespaces, by name."""
        return [_to_summary(each) for each in self._namespaces.list_namespaces()]

    def list_artifacts(self, namespace: str) -> list[ArtifactSummary]:
        """Return the artifacts in use that a namespace sees."""
        return [
            ArtifactSummary(
                each.id, each.namespace, [(plugin.type, plugin.name) for plugin in each.plugins]
            )
            for each in self._artifacts.list_artifacts(namespace)
            if each.digest
        ]

    def find_plugin(
        self,
        namespace: str,
        type: str,
        name: str,
        selector: ArtifactSelector,
        properties: dict[str, str],
    ) -> PluginRef:
        """Return the plugin that a selector chooses, with the plugins that its properties name.

        :raises NotFoundError: when there is no such plugin or namespace.
        """
        self._namespaces.require(namespace)
        plugins = IndexedPlugins(self._artifacts, namespace)
        return plugins.add_uses(plugins.require(type, name, selector), properties)

    def has_dataset(self, namespace: str, name: str) -> bool:
        """See :meth:`localcdap.datasets.instances.DatasetService.has_dataset`."""
        return self._datasets.has_dataset(namespace, name)

    def create_dataset(self, request: DatasetRequest) -> bool:
        """Create a dataset of the namespace's user; return whether there was none of that name and type.

        :raises ConflictError: when there is one of another type.
        """
        try:
            self._datasets.create(request)
        except ConflictError:
            if not self._datasets.has_dataset(request.namespace, request.name):
                raise
            held = self._datasets.describe(request.namespace, request.name)
            if held.type != request.type:
                raise
            return False
        return True

    def find_dataset_type(self, namespace: str, name: str) -> PluginRef | None:
        """Return what the process needs to load a dataset type of a module; None when there is none."""
        found = self._artifacts.find_dataset_type(namespace, name)
        return None if found is None else found.plugin

    def call_method(self, call: MethodCall, user: str) -> Any:
        """Call a method of a plugin; the tables that it looks into are those that a user may read.

        :param user: who calls the application; "" for localcdap itself.
        """
        return self._methods.call(call, Principal(user) if user else None).answer

    def configure(self, request: ConfigureRequest) -> ConfigureResult:
        """See :meth:`localcdap.sandbox.supervisor.PluginWorker.configure`."""
        return self._plugins.configure(request)

    def call(self, request: CallRequest) -> bytes:
        """See :meth:`localcdap.sandbox.supervisor.PluginWorker.call`."""
        return self._plugins.call(request)

    def transform(self, request: TransformRequest) -> TransformResult:
        """See :meth:`localcdap.sandbox.supervisor.PluginWorker.transform`."""
        return self._plugins.transform(request)

    def get_preferences(self, namespace: str, resolved: bool) -> dict[str, str]:
        """See :meth:`localcdap.api.app.SystemContext.get_preferences`."""
        level = PreferenceLevel(namespace)
        preferences = self._preferences
        return preferences.resolve(level) if resolved else preferences.get(level)

    def evaluate_macros(
        self, namespace: str, properties: dict[str, str], arguments: dict[str, str]
    ) -> dict[str, str]:
        """See :meth:`localcdap.api.app.SystemContext.evaluate_macros`."""
        values = self.get_preferences(namespace, resolved=True) | arguments
        secrets = self._secrets(namespace)
        functions = create_macro_functions(
            time.time_ns() // 1_000_000,
            secure=secrets.source,
            oauth=secrets.credentials,
            conn=secrets.connections,
        )
        parser = MacroParser(create_lookup(values), create_call(functions), MacroOptions())
        evaluated = {}
        for name, text in properties.items():
            try:
                evaluated[name] = parser.parse(text) or ""
            except MacroError as error:
                message = f"Property '{name}': {error.message}"
                raise MacroError(message, error.corrective_action) from None
        return evaluated

    def open_folder(self, app: str, namespace: str) -> str:
        """See :meth:`localcdap.api.app.SystemContext.open_folder`."""
        return str(self._files.open_folder(app, namespace))

    def export_rows(self, app: str, request: ExportRequest, file: str) -> ExportedRows:
        """See :meth:`localcdap.api.app.SystemContext.export_rows`.

        :raises BadRequestError: when the name of the file is that of another folder.
        """
        if not file or file != Path(file).name or file.startswith("."):
            raise BadRequestError(f"'{file}' cannot be the name of a file.", "Use a plain name.")
        return self._data.export(request, self._files.open_folder(app, SYSTEM_NAMESPACE) / file)

    def list_runs(self, after: str | None, limit: int) -> list[KnownRun]:
        """See :meth:`localcdap.api.app.SystemContext.list_runs`."""
        return self._data.list_runs(after, limit)

    def submit_job(self, app: str, request: JobRequest, user: str) -> str:
        """See :meth:`localcdap.api.app.SystemContext.submit`.

        :param user: who calls the application; "" for localcdap itself.
        """
        jobs = self._get_jobs()
        for each in self._artifacts.list_applications():
            if each.application.name == app:
                return jobs.submit(each, request, user)
        raise NotFoundError(f"There is no application '{app}' any more.")

    def get_job(self, app: str, namespace: str, id: str) -> JobDetail:
        """See :meth:`localcdap.api.app.SystemContext.get_job`."""
        found = self._get_jobs().get(id)
        if (found.application, found.namespace) != (app, namespace):
            raise NotFoundError(f"There is no job '{id}'.")
        return found

    def list_jobs(self, app: str, namespace: str) -> list[JobDetail]:
        """See :meth:`localcdap.api.app.SystemContext.list_jobs`."""
        return self._get_jobs().list_jobs(namespace, app)

    def read_job_log(self, app: str, namespace: str, id: str, after: int) -> list[JobLogLine]:
        """See :meth:`localcdap.api.app.SystemContext.read_job_log`."""
        return self._get_jobs().read_log(self.get_job(app, namespace, id).id, after)

    def stop_job(self, app: str, namespace: str, id: str) -> None:
        """See :meth:`localcdap.api.app.SystemContext.stop_job`."""
        self._get_jobs().stop(self.get_job(app, namespace, id).id)

    def _get_jobs(self) -> JobService:
        if self._jobs is None:
            raise HostError(
                "Jobs cannot be submitted here: they need an instance.",
                "In a test, use the fixture cdap_instance.",
            )
        return self._jobs

    def read_metadata(self, entity: MetadataEntity) -> ScopedMetadata:
        """Return the metadata of an entity; see :meth:`AppMetadata.read`."""
        return self._metadata.read(entity)

    def emit_metadata(self, app: str, operation: MetadataOperation) -> None:
        """Publish an operation of an application; see :meth:`AppMetadata.emit`."""
        self._metadata.emit(app, operation)

    def create_topic(self, namespace: str, topic: str) -> None:
        """Create a topic, if it does not exist."""
        try:
            self._messaging.create_topic(namespace, topic)
        except ConflictError:
            self._messaging.describe_topic(namespace, topic)

    def publish(self, namespace: str, topic: str, payloads: list[Any]) -> list[int]:
        """See :meth:`localcdap.api.app.SystemContext.publish`."""
        return self._messaging.publish(namespace, topic, payloads)

    def fetch(
        self, namespace: str, topic: str, after: int, limit: int, wait_s: float
    ) -> list[Message]:
        """See :meth:`localcdap.api.app.SystemContext.fetch`."""
        found = self._messaging.fetch(namespace, topic, after, limit, wait_s)
        return [Message(each.id, each.topic, each.payload) for each in found]


def _to_summary(namespace: Namespace) -> NamespaceSummary:
    return NamespaceSummary(namespace.name, namespace.description, namespace.generation)
