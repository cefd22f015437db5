"""The application tester: a system application in the process of the test, with the services of an
instance.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn, Self, TypeVar, cast

from localcdap.api.app.application import SystemApplication, describe_application
from localcdap.api.app.events import SYSTEM_NAMESPACE, SystemEventListener
from localcdap.api.app.jobs import JobRequest
from localcdap.api.connector import SampleRequest
from localcdap.api.errors import BadRequestError, HostError
from localcdap.api.locations import Locations
from localcdap.apps.child import AppRuntime
from localcdap.apps.context import AppContext
from localcdap.apps.jobs.service import JobService
from localcdap.apps.model import AppAnswer, AppRequest
from localcdap.apps.platform import AppPlatform, AppServices
from localcdap.apps.storage import AppDeployer, AppFiles
from localcdap.artifacts.inspection import inspect_artifact
from localcdap.artifacts.model import Inspection, PluginRef
from localcdap.artifacts.service import ArtifactService
from localcdap.connectors.service import ConnectorService
from localcdap.datasets.accesses import DatasetAccessLog
from localcdap.datasets.instances import DatasetService
from localcdap.datasets.listeners import (
    DeletedNamespaceCleanup,
    TableListenerDelivery,
    create_structured_rows_resource,
)
from localcdap.messaging.listeners import EventDispatcher
from localcdap.messaging.service import MessagingService
from localcdap.messaging.topics import Topics
from localcdap.metadata.accesses import AccessRecorder
from localcdap.metadata.audit import AuditLog
from localcdap.metadata.emitted import EmittedMetadataListener
from localcdap.metadata.lineage.store import LineageStore
from localcdap.metadata.service import MetadataService, create_checks
from localcdap.metadata.store import MetadataStore
from localcdap.namespaces.connections import ConnectionService
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.preferences import PreferenceService
from localcdap.namespaces.secure_keys import FileVault, SecureKeyService
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.environment import EnvironmentFactory
from localcdap.pipeline.macros.evaluation import Secrets
from localcdap.pipeline.methods import MethodCaller
from localcdap.runs.metadata import StoredRuns
from localcdap.sandbox.connector_calls import GivenRows, WantedRows
from localcdap.sandbox.plugin_calls import (
    CallRequest,
    TransformRequest,
    TransformResult,
    call_plugin,
    transform_records,
)
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult, configure_stage
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.store.store import Store
from localcdap.store.structured.admin import StructuredTables
from localcdap.testing.instance import open_new_store

_R = TypeVar("_R")
_T = TypeVar("_T")
_SWEPT_WITHIN_S: Final = 10.0
_LIMIT_S: Final = 10.0
"""Seconds that a connector has, of which a sample takes its part."""


class AppTester:
    """An application for one test, deployed in a new database.

    >>> app = cdap_app(Notebook)                                          # doctest: +SKIP
    >>> app.put("/contexts/default/notes/1", body="buy milk").status      # doctest: +SKIP
    204
    >>> app.namespaces.create("sales")                                    # doctest: +SKIP

    Plugins that it uses run in this process too.

    :param folder: the folder of the database and plugins; use a separate one for each tester.
    :raises ConflictError: when the tables cannot be created.
    """

    def __init__(self, app: type[SystemApplication], folder: Path) -> None:
        self._folder = folder
        with contextlib.ExitStack() as undo:
            store = undo.enter_context(open_new_store(folder / "localcdap.duckdb"))
            topics = Topics(store)
            self._delivery = EventDispatcher(store, topics)
            undo.callback(self._delivery.close)
            undo.callback(topics.close)
            self.namespaces: Final = NamespaceService(store, topics)
            metadata, audit = MetadataStore(store), AuditLog(topics)
            lineage = LineageStore(store, StoredRuns(store), metadata.list_fields)
            recorder = AccessRecorder(lineage, metadata, audit)
            files = folder / "filesets"
            accesses = DatasetAccessLog(store, ALLOW_ALL, recorder, files)
            tables = StructuredTables(store, self.namespaces.require_generation, accesses.open)
            self.datasets: Final = DatasetService(store, self.namespaces, topics, audit, files)
            undo.callback(tables.close)
            self.transactions: Final = tables.transactions
            self.tables: Final = tables.admin
            self.namespaces.register_resource(create_structured_rows_resource(tables))
            self.namespaces.register_resource(NamespaceResource("topics", remove=topics.delete_all))
            self.messaging: Final = MessagingService(
                store, topics, self._delivery, self.namespaces.require
            )
            self.preferences: Final = PreferenceService(store, self.namespaces)
            vault = FileVault(folder / "secrets.json")
            self.secure_keys: Final = SecureKeyService(
                store, self.namespaces, [vault], lambda: vault.name
            )
            self._delivery.add(DeletedNamespaceCleanup(tables.admin))
            self._artifacts = _create_artifact_service(store, folder, self.namespaces)
            self.metadata: Final = MetadataService(
                store, metadata, self.namespaces, create_checks(self._artifacts)
            )
            self._delivery.add(EmittedMetadataListener(self.metadata))
            AppDeployer(tables.admin).deploy(
                SYSTEM_NAMESPACE, [describe_application(app, app.__qualname__)]
            )
            environments = self._create_environments(folder)
            self.connections: Final = ConnectionService(
                tables.transactions, self.namespaces, self.secure_keys
            )
            services = self._create_services(folder, store, topics, environments)
            name = describe_application(app, app.__qualname__).name
            self.context: Final = AppContext(services, tables.transactions, name)
            self._runtime = AppRuntime(app, self.context, self._create_delivery)
            self._undo = undo.pop_all()

    def get(self, path: str, *, service: str | None = None, **query: Any) -> AppAnswer:
        """Answer a ``GET`` request.

        :param service: the name of the service; None for the only one.
        :param query: query parameters; each is a value that can be written as text, or a list of values.
        """
        return self._answer("GET", path, None, service, query)

    def post(
        self,
        path: str,
        body: Any = None,
        *,
        service: str | None = None,
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> AppAnswer:
        """Answer a ``POST`` request.

        :param body: a value that JSON can represent, a Struct, or bytes.
        """
        return self._answer("POST", path, body, service, query, headers)

    def put(
        self, path: str, body: Any = None, *, service: str | None = None, **query: Any
    ) -> AppAnswer:
        """Answer a ``PUT`` request."""
        return self._answer("PUT", path, body, service, query)

    def delete(self, path: str, *, service: str | None = None, **query: Any) -> AppAnswer:
        """Answer a ``DELETE`` request."""
        return self._answer("DELETE", path, None, service, query)

    def deliver(self) -> None:
        """Deliver all system events to the listeners, store what was emitted, and delete the rows of deleted
        namespaces.

        :raises Exception: the exception of a listener.
        """
        self._runtime.deliver_all()
        deadline = time.monotonic() + _SWEPT_WITHIN_S
        while any(each.waiting for each in self._delivery.list_statuses()):
            if time.monotonic() > deadline:
                raise TimeoutError("the rows of deleted namespaces were not removed")
            time.sleep(0.005)

    def drop(self, artifact: str | Path, namespace: str = "default") -> None:
        """Copy an artifact, a file or a folder, into the plugin folder of a namespace."""
        source = Path(artifact)
        folder = self._folder / "plugins"
        place = (folder if namespace == "default" else folder / namespace) / source.name
        place.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, place)
        self._artifacts.sync()

    def close(self) -> None:
        """Close the database."""
        self._undo.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(
        self,
        method: str,
        path: str,
        body: Any,
        service: str | None,
        query: dict[str, Any],
        headers: Mapping[str, str] | None = None,
    ) -> AppAnswer:
        texts = {
            name: [_to_query_text(each) for each in value]
            if isinstance(value, list)
            else _to_query_text(value)
            for name, value in query.items()
        }
        request = AppRequest(method, path, texts, body, service, dict(headers or {}))
        return self._runtime.answer(request)

    def _create_environments(self, folder: Path) -> EnvironmentFactory:
        return EnvironmentFactory(
            self._artifacts,
            locations=Locations({}, str(folder)),
            check_namespace=self.namespaces.require,
            secrets=self._get_secrets,
        )

    def _create_services(
        self, folder: Path, store: Store, topics: Topics, environments: EnvironmentFactory
    ) -> AppServices:
        jobs = cast(JobService, _NoJobs())
        platform = _TesterPlatform(
            store,
            topics,
            self.namespaces,
            self._artifacts,
            self._get_secrets,
            MethodCaller(environments, InProcessRunner(), None, None),
            AppFiles(folder / "files", self.namespaces),
            self.tables,
            jobs,
            ALLOW_ALL,
        )
        return AppServices(
            platform,
            self.namespaces,
            self.preferences,
            self.datasets,
            self.metadata,
            self.messaging,
            self.tables,
            jobs,
            InProcessRunner(),
            self.connections,
            self._create_connectors(environments),
        )

    def _create_connectors(self, environments: EnvironmentFactory) -> ConnectorService:
        return ConnectorService(
            self.connections,
            self._artifacts,
            environments,
            InProcessRunner(),
            _NoRows(),
            _LIMIT_S,
        )

    def _get_secrets(self, namespace: str) -> Secrets:
        return Secrets(
            partial(self.secure_keys.get, namespace),
            partial(self.connections.get_properties, namespace),
        )

    def _create_delivery(
        self, listener: SystemEventListener[Any], name: str
    ) -> TableListenerDelivery:
        return TableListenerDelivery(self.messaging, self.transactions, self.tables, listener, name)


class _NoRows:
    """Refuses connectors that ask for rows: there are no tables, and no Spark."""

    def fetch(self, namespace: str, wanted: WantedRows, _sample: SampleRequest) -> GivenRows:
        if wanted == WantedRows():
            return GivenRows(wanted)
        raise BadRequestError(
            f"The tester of applications has neither tables nor Spark in namespace '{namespace}'.",
            "Use cdap_instance.",
        )


def _refuse_jobs() -> NoReturn:
    raise HostError(
        "Jobs cannot be submitted here: they need an instance.",
        "In a test, use the fixture cdap_instance.",
    )


class _NoJobs:
    """Refuses all that concerns jobs."""

    def __getattr__(self, name: str) -> Any:
        _refuse_jobs()


class _TesterPlatform(AppPlatform):
    """The platform of an application that is in no artifact, and that therefore has no jobs."""

    def submit_job(self, app: str, request: JobRequest, user: str) -> str:
        _refuse_jobs()


class InProcessRunner:
    """Runs the code of plugins in this process."""

    def inspect(self, path: str, digest: str) -> Inspection:
        return inspect_artifact(path, digest)

    def configure(self, request: ConfigureRequest) -> ConfigureResult:
        return configure_stage(request)

    def call(self, request: CallRequest) -> bytes:
        return call_plugin(request)

    def do(
        self,
        job: Callable[[_R], _T],
        request: _R,
        plugin: PluginRef,
        who: str,
        session: str = "",
    ) -> _T:
        return job(request)

    def end_session(self, session: str) -> None:
        """Keep what methods have kept: this process goes on."""

    def transform(self, request: TransformRequest) -> TransformResult:
        return transform_records(request)


def _create_artifact_service(
    store: Store, folder: Path, namespaces: NamespaceService
) -> ArtifactService:
    return ArtifactService(
        store,
        InProcessRunner(),
        system_directory=folder / "system",
        plugin_directories=[folder / "plugins"],
        cache=folder / "cache",
        namespaces=namespaces,
    )


def _to_query_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
