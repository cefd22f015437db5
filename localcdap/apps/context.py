"""The context of an application's services, on the platform services of the host."""

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
from localcdap.api.errors import BadRequestError, StageError
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
from localcdap.apps.platform import AppPlatform
from localcdap.artifacts.model import ArtifactSelector, PluginRef
from localcdap.datasets.model import DatasetRequest
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
    """The :class:`localcdap.api.app.SystemContext` on the platform service of a host.

    :param platform: the service itself, or a proxy.
    :param app: the name of the application.
    """

    def __init__(
        self,
        platform: AppPlatform,
        transactions: TransactionRunner,
        app: str,
        connections: Connections,
    ) -> None:
        self._platform = platform
        self._app = app
        self.namespace = SYSTEM_NAMESPACE
        self.transactions: TransactionRunner = transactions
        self.connections: Connections = connections
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
        return self._platform.find_namespace(namespace)

    def list_namespaces(self) -> list[NamespaceSummary]:
        return self._platform.list_namespaces()

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
        return AppPlugin(self._platform, ref, namespace, given)

    def get_preferences(self, namespace: str, *, resolved: bool = True) -> dict[str, str]:
        return self._platform.get_preferences(namespace, resolved)

    def evaluate_macros(
        self,
        namespace: str,
        properties: Mapping[str, str],
        arguments: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        return self._platform.evaluate_macros(namespace, dict(properties), dict(arguments or {}))

    def dataset_exists(self, namespace: str, name: str) -> bool:
        return self._platform.has_dataset(namespace, name)

    def create_dataset(
        self,
        namespace: str,
        name: str,
        type: str,
        properties: Mapping[str, str] | None = None,
        description: str | None = None,
    ) -> bool:
        request = DatasetRequest(name, type, dict(properties or {}), description, namespace)
        return self._platform.create_dataset(request)

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
        return self._platform.get_job(self._app, namespace, id)

    def list_jobs(self, namespace: str) -> list[JobDetail]:
        return self._platform.list_jobs(self._app, namespace)

    def read_job_log(self, namespace: str, id: str, after: int = 0) -> list[JobLogLine]:
        return self._platform.read_job_log(self._app, namespace, id, after)

    def stop_job(self, namespace: str, id: str) -> None:
        self._platform.stop_job(self._app, namespace, id)

    def get_metadata(self, scope: MetadataScope, entity: MetadataEntity) -> Metadata:
        return self._platform.read_metadata(entity.resolve(self.namespace)).get(scope)

    def _emit(self, operation: MetadataOperation) -> None:
        self._platform.emit_metadata(self._app, operation)

    def create_topic(self, namespace: str, topic: str) -> None:
        self._platform.create_topic(namespace, topic)

    def publish(self, namespace: str, topic: str, *payloads: Any) -> list[int]:
        return self._platform.publish(namespace, topic, list(payloads))

    def fetch(
        self, namespace: str, topic: str, after: int = 0, limit: int = 100, wait_s: float = 0.0
    ) -> list[Message]:
        return self._platform.fetch(namespace, topic, after, limit, wait_s)


class AppPlugin:
    """The :class:`localcdap.api.app.UserPlugin` of a namespace."""

    def __init__(
        self, platform: AppPlatform, ref: PluginRef, namespace: str, properties: dict[str, str]
    ) -> None:
        self.artifact: Final = ref.artifact
        self._platform = platform
        self._ref = ref
        self._namespace = namespace
        self._properties = properties

    def configure(self, input_schemas: Mapping[str, Schema | None]) -> ConfiguredPlugin:
        request = ConfigureRequest(
            self._ref, self._ref.name, self._properties, [], dict(input_schemas)
        )
        result = self._platform.configure(request)
        return ConfiguredPlugin(result.failures, result.output_schema, result.error_schema)

    def call(self, method: str, *arguments: Any) -> Any:
        request = CallRequest(self._ref, self._properties, method, list(arguments))
        return unpack(self._platform.call(request), Any)

    def call_method(self, method: str, request: Any = None) -> Any:
        artifact = self._ref.artifact
        selector = ArtifactSelector(artifact.scope, artifact.name, artifact.version)
        plugin = MethodPlugin(self._ref.type, self._ref.name, selector, self._properties)
        return self._platform.call_method(
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
        result = self._platform.transform(request)
        errors = RecordCodec(result.error_schema).decode(read_arrow_stream(result.error_records))
        return TransformedRecords(
            result.output_schema,
            RecordCodec(result.output_schema).decode(read_arrow_stream(result.records)),
            [
                EmittedError(record, code, message)
                for record, (code, message) in zip(errors, result.errors, strict=True)
            ],
        )
