"""The context of an application's services, on those services of the host that applications may call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from localcdap.api.app.connections import Connections
from localcdap.api.app.context import (
    ArtifactSummary,
    ConfiguredPlugin,
    EmittedError,
    KnownRun,
    Message,
    TransformedRecords,
)
from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.api.app.jobs import JobDetail, JobLogLine, JobRequest
from localcdap.api.app.namespaces import NamespaceSummary
from localcdap.api.app.table import ExportedRows, ExportRequest
from localcdap.api.app.transactions import TransactionRunner
from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError, StageError
from localcdap.api.metadata import (
    Metadata,
    MetadataEntity,
    MetadataOperation,
    MetadataScope,
    MetadataWriter,
)
from localcdap.api.schema import Schema
from localcdap.api.security import Permission, Principal
from localcdap.api.serialization.value_types import unpack
from localcdap.apps.platform import AppServices
from localcdap.artifacts.model import ArtifactSelector, PluginRef
from localcdap.datasets.model import DatasetRequest
from localcdap.namespaces.model import Namespace
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.pipeline.methods import MethodCall, MethodPlugin
from localcdap.sandbox.plugin_calls import (
    CallRequest,
    TransformRequest,
    read_arrow_stream,
    to_arrow_stream,
)
from localcdap.sandbox.stage_configuration import ConfigureRequest
from localcdap.security.principals import current_principal, get_current_user


class AppContext(MetadataWriter):
    """The :class:`localcdap.api.app.SystemContext` on the services of a host.

    :param host: the services themselves, or proxies.
    :param app: the name of the application.
    """

    def __init__(self, host: AppServices, transactions: TransactionRunner, app: str) -> None:
        self._host = host
        self._platform: Final = host.platform
        self._app = app
        self.namespace = SYSTEM_NAMESPACE
        self.transactions: TransactionRunner = transactions
        self.connections: Connections = CallerConnections(host)
        self.deliver: Callable[[], object] = lambda: None
        """Delivers the events that wait for the listeners of the application; set when they are known."""

    @property
    def caller(self) -> Principal:
        return current_principal()

    def require_permission(self, namespace: str, permission: Permission) -> None:
        self._platform.enforce(get_current_user() or "", namespace, permission)

    def namespace_exists(self, namespace: str) -> bool:
        return self.get_namespace_summary(namespace) is not None

    def get_namespace_summary(self, namespace: str) -> NamespaceSummary | None:
        try:
            return _to_summary(self._host.namespaces.describe(namespace))
        except NotFoundError:
            return None

    def list_namespaces(self) -> list[NamespaceSummary]:
        return [_to_summary(each) for each in self._host.namespaces.list_namespaces()]

    def list_artifacts(self, namespace: str) -> list[ArtifactSummary]:
        return self._platform.list_artifacts(namespace)

    def plugin(
        self,
        namespace: str,
        type: str,
        name: str,
        properties: Mapping[str, str] | None = None,
        *,
        artifact: str | None = None,
        version: str | None = None,
    ) -> AppPlugin:
        selector = ArtifactSelector(name=artifact, version=version)
        given = dict(properties or {})
        ref = self._platform.find_plugin(namespace, type, name, selector, given)
        return AppPlugin(self._host, ref, namespace, given)

    def get_preferences(self, namespace: str, *, resolved: bool = True) -> dict[str, str]:
        level, preferences = PreferenceLevel(namespace), self._host.preferences
        return preferences.resolve(level) if resolved else preferences.get(level)

    def evaluate_macros(
        self,
        namespace: str,
        properties: Mapping[str, str],
        arguments: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        values = self.get_preferences(namespace) | dict(arguments or {})
        return self._platform.evaluate_macros(namespace, dict(properties), values)

    def dataset_exists(self, namespace: str, name: str) -> bool:
        return self._host.datasets.has_dataset(namespace, name)

    def create_dataset(
        self,
        namespace: str,
        name: str,
        type: str,
        properties: Mapping[str, str] | None = None,
        description: str | None = None,
    ) -> bool:
        request = DatasetRequest(name, type, dict(properties or {}), description, namespace)
        datasets = self._host.datasets
        try:
            datasets.create(request)
        except ConflictError:
            is_same = (
                datasets.has_dataset(namespace, name)
                and datasets.describe(namespace, name).type == type
            )
            if not is_same:
                raise
            return False
        return True

    def open_folder(self, namespace: str) -> Path:
        return Path(self._platform.open_folder(self._app, namespace))

    def export_rows(self, request: ExportRequest, file: str) -> ExportedRows:
        return self._platform.export_rows(self._app, request, file)

    def deliver_events(self) -> None:
        self.deliver()

    def list_runs(self, after: str | None = None, limit: int = 1000) -> list[KnownRun]:
        return self._platform.list_runs(after, limit)

    def submit(self, request: JobRequest) -> str:
        return self._platform.submit_job(self._app, request, get_current_user() or "")

    def get_job(self, namespace: str, id: str) -> JobDetail:
        job = self._host.jobs.get(id)
        if (job.application, job.namespace) != (self._app, namespace):
            raise NotFoundError(f"There is no job '{id}'.")
        return job

    def list_jobs(self, namespace: str) -> list[JobDetail]:
        return self._host.jobs.list_jobs(namespace, self._app)

    def read_job_log(self, namespace: str, id: str, after: int = 0) -> list[JobLogLine]:
        return self._host.jobs.read_log(self.get_job(namespace, id).id, after)

    def stop_job(self, namespace: str, id: str) -> None:
        self._host.jobs.stop(self.get_job(namespace, id).id)

    def get_metadata(self, scope: MetadataScope, entity: MetadataEntity) -> Metadata:
        return self._host.metadata.get(entity.resolve(self.namespace)).get(scope)

    def _emit(self, operation: MetadataOperation) -> None:
        self._platform.emit_metadata(self._app, operation)

    def create_topic(self, namespace: str, topic: str) -> None:
        try:
            self._host.messaging.create_topic(namespace, topic)
        except ConflictError:
            self._host.messaging.describe_topic(namespace, topic)

    def publish(self, namespace: str, topic: str, *payloads: Any) -> list[int]:
        return self._host.messaging.publish(namespace, topic, list(payloads))

    def fetch(
        self, namespace: str, topic: str, after: int = 0, limit: int = 100, wait_s: float = 0.0
    ) -> list[Message]:
        messages = self._host.messaging.fetch(namespace, topic, after, limit, wait_s)
        return [Message(each.id, each.topic, each.payload) for each in messages]


class CallerConnections:
    """The :class:`localcdap.api.app.connections.Connections` of an application."""

    def __init__(self, host: AppServices) -> None:
        stored, connectors = host.connections, host.connectors
        self.list_connections = stored.list_connections
        self.get = stored.find
        self.put = stored.put
        self.delete = stored.delete
        self.list_types = connectors.list_types
        self.test = connectors.test
        self.browse = connectors.browse
        self.sample = connectors.sample
        self.specify = connectors.specify


class AppPlugin:
    """The :class:`localcdap.api.app.UserPlugin` of a namespace."""

    def __init__(
        self, host: AppServices, ref: PluginRef, namespace: str, properties: dict[str, str]
    ) -> None:
        self.artifact: Final = ref.artifact
        self._host = host
        self._ref = ref
        self._namespace = namespace
        self._properties = properties

    def configure(self, input_schemas: Mapping[str, Schema | None]) -> ConfiguredPlugin:
        request = ConfigureRequest(
            self._ref, self._ref.name, self._properties, [], dict(input_schemas)
        )
        result = self._host.plugins.configure(request)
        return ConfiguredPlugin(result.failures, result.output_schema, result.error_schema)

    def call(self, method: str, *arguments: Any) -> Any:
        request = CallRequest(self._ref, self._properties, method, list(arguments))
        return unpack(self._host.plugins.call(request), Any)

    def call_method(self, method: str, request: Any = None) -> Any:
        artifact = self._ref.artifact
        selector = ArtifactSelector(artifact.scope, artifact.name, artifact.version)
        plugin = MethodPlugin(self._ref.type, self._ref.name, selector, self._properties)
        return self._host.platform.call_method(
            MethodCall(plugin, method, request, self._namespace), get_current_user() or ""
        )

    def transform(self, records: Sequence[Mapping[str, Any]], schema: Schema) -> TransformedRecords:
        try:
            batch = RecordCodec(schema).encode([dict(each) for each in records])
        except StageError as error:
            raise BadRequestError(error.message, error.corrective_action) from None
        request = TransformRequest(
            self._ref, self._namespace, self._properties, schema, to_arrow_stream(batch)
        )
        result = self._host.plugins.transform(request)
        errors = RecordCodec(result.error_schema).decode(read_arrow_stream(result.error_records))
        return TransformedRecords(
            result.output_schema,
            RecordCodec(result.output_schema).decode(read_arrow_stream(result.records)),
            [
                EmittedError(record, code, message)
                for record, (code, message) in zip(errors, result.errors, strict=True)
            ],
        )


def _to_summary(namespace: Namespace) -> NamespaceSummary:
    return NamespaceSummary(namespace.name, namespace.description, namespace.generation)
