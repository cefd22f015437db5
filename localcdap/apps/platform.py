"""What system applications may call of the host: a table of services, restricted to some of their methods.

A process of an application acts as localcdap itself, but for connections: there each call acts for the user
who called the application, and is checked as if that user called the services.
"""

from __future__ import annotations

import time
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, Self

from localcdap.api.app.context import ArtifactSummary, KnownRun
from localcdap.api.app.events import SYSTEM_NAMESPACE, MetadataEmitted
from localcdap.api.app.jobs import JobRequest
from localcdap.api.app.table import ExportedRows, ExportRequest
from localcdap.api.errors import BadRequestError, MacroError, NotFoundError, UnauthorizedError
from localcdap.api.metadata import MetadataEntity, MetadataOperation
from localcdap.api.security import Permission, Principal
from localcdap.apps.jobs.service import JobService
from localcdap.apps.storage import AppFiles
from localcdap.artifacts.model import ArtifactSelector, PluginRef
from localcdap.artifacts.service import ArtifactService
from localcdap.connectors.service import ConnectorService
from localcdap.datasets.instances import DatasetService
from localcdap.messaging.service import MessagingService
from localcdap.messaging.topics import Topics
from localcdap.metadata.service import MetadataService
from localcdap.namespaces.connections import ConnectionService
from localcdap.namespaces.preferences import PreferenceService
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
from localcdap.rpc.client import Client
from localcdap.runs.status_events import KnownRuns
from localcdap.sandbox.plugin_calls import CallRequest, TransformRequest, TransformResult
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult
from localcdap.security.access import AccessChecks, SwitchedAuthorizer, perform_as_system
from localcdap.store.store import Store
from localcdap.store.structured.admin import TableAdmin
from localcdap.store.structured.exports import StructuredExports
from localcdap.transactions.calls import TRANSACTIONS

_SERVICE: Final = "Service"
_MOST_RUNS: Final = 10_000
_ALLOWED: Final[Mapping[str, frozenset[str]]] = {
    "namespaces": frozenset(("describe", "list_namespaces")),
    "preferences": frozenset(("get", "resolve")),
    "datasets": frozenset(("has_dataset", "describe", "create")),
    "metadata": frozenset(("get",)),
    "jobs": frozenset(("get", "list_jobs", "read_log", "stop")),
    "plugins": frozenset(("configure", "call", "transform")),
    "connections": frozenset(("list_connections", "find", "put", "delete")),
    "connectors": frozenset(("list_types", "test", "browse", "sample", "specify")),
}
"""The methods of services that applications call; of services that are not named, all."""
_FOR_CALLER: Final = ("connections", "connectors")


class PluginCaller(Protocol):
    """Runs the code of plugins within limits; the pool of plugin workers."""

    def configure(self, request: ConfigureRequest) -> ConfigureResult: ...

    def call(self, request: CallRequest) -> bytes: ...

    def transform(self, request: TransformRequest) -> TransformResult: ...


@dataclass(frozen=True)
class AppServices:
    """The services of the host that applications call, or proxies of them, by the names between processes."""

    platform: AppPlatform
    namespaces: NamespaceService
    preferences: PreferenceService
    datasets: DatasetService
    metadata: MetadataService
    messaging: MessagingService
    admin: TableAdmin
    jobs: JobService
    plugins: PluginCaller
    connections: ConnectionService
    connectors: ConnectorService

    @classmethod
    def of_host(cls, host: Client) -> Self:
        """Return proxies of the services of a host."""
        types = typing.get_type_hints(cls)
        return cls(**{name: host.make_proxy(name, service) for name, service in types.items()})

    def perform(
        self, checks: AccessChecks, service: object, method: str, arguments: dict[str, Any]
    ) -> Any:
        """Call a method for the process of an application; see :data:`localcdap.rpc.methods.Perform`.

        :raises UnauthorizedError: when applications do not call it, or their caller may not.
        """
        name = next((name for name, each in vars(self).items() if each is service), TRANSACTIONS)
        if method not in _ALLOWED.get(name, (method,)):
            raise UnauthorizedError(f"Applications do not call {type(service).__name__}.{method}.")
        perform = checks.perform if name in _FOR_CALLER else perform_as_system
        return perform(service, method, arguments)


class AppPlatform:
    """The service of the host that only processes of applications call. Threads may share it."""

    def __init__(
        self,
        store: Store,
        topics: Topics,
        namespaces: NamespaceService,
        artifacts: ArtifactService,
        secrets: SecretsOf,
        methods: MethodCaller,
        files: AppFiles,
        admin: TableAdmin,
        jobs: JobService,
        authorizer: SwitchedAuthorizer,
    ) -> None:
        self._store = store
        self._topics = topics
        self._namespaces = namespaces
        self._artifacts = artifacts
        self._secrets = secrets
        self._methods = methods
        self._files = files
        self._exports = StructuredExports(store, admin)
        self._runs = KnownRuns(store)
        self._jobs = jobs
        self._authorizer = authorizer

    def enforce(self, user: str, namespace: str, permission: Permission) -> None:
        """Check that a user who calls an application has a permission on a namespace.

        :param user: "" for localcdap itself, which may do everything.
        :raises UnauthorizedError: when they have not.
        """
        if user and self._authorizer.is_enabled:
            entity = MetadataEntity.of_namespace(namespace)
            self._authorizer.enforce(Principal(user), entity, [permission])

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

    def find_dataset_type(self, namespace: str, name: str) -> PluginRef | None:
        """Return what the process needs to load a dataset type of a module; None when there is none."""
        found = self._artifacts.find_dataset_type(namespace, name)
        return None if found is None else found.plugin

    def call_method(self, call: MethodCall, user: str) -> Any:
        """Call a method of a plugin; the tables that it looks into are those that a user may read.

        :param user: who calls the application; "" for localcdap itself.
        """
        return self._methods.call(call, Principal(user) if user else None).answer

    def evaluate_macros(
        self, namespace: str, properties: dict[str, str], values: dict[str, str]
    ) -> dict[str, str]:
        """Return the properties with macros replaced by values and secure keys.

        :raises MacroError: when a macro is malformed or has no value.
        """
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
        """Return the folder for files of an application, see :class:`localcdap.apps.storage.AppFiles`."""
        return str(self._files.open_folder(app, namespace))

    def export_rows(self, app: str, request: ExportRequest, file: str) -> ExportedRows:
        """Write rows of a structured table into a file of an application.

        :raises BadRequestError: when the name of the file is that of another folder.
        """
        if not file or file != Path(file).name or file.startswith("."):
            raise BadRequestError(f"'{file}' cannot be the name of a file.", "Use a plain name.")
        return self._exports.export(request, self._files.open_folder(app, SYSTEM_NAMESPACE) / file)

    def list_runs(self, after: str | None, limit: int) -> list[KnownRun]:
        """Return at least one and at most 10,000 runs after a position, if there are any."""
        return self._runs.list_known(after, max(1, min(limit, _MOST_RUNS)))

    def submit_job(self, app: str, request: JobRequest, user: str) -> str:
        """Put a job of an application into the queue, and return its id.

        :param user: who calls the application; "" for localcdap itself.
        """
        for each in self._artifacts.list_applications():
            if each.application.name == app:
                return self._jobs.submit(each, request, user)
        raise NotFoundError(f"There is no application '{app}' any more.")

    def emit_metadata(self, app: str, operation: MetadataOperation) -> None:
        """Publish an operation of an application on metadata.

        It passes through the topic of all programs, so that it keeps its place among the operations on an
        entity.
        """
        program = MetadataEntity.of_program(app, _SERVICE, app, SYSTEM_NAMESPACE)
        now = time.time_ns() // 1_000_000
        with self._store.transaction() as tx:
            self._topics.publish_event(tx, MetadataEmitted(program, app, operation, now, ""))
