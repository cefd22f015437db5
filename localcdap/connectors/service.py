"""The service ``connectors``: what people see through connections before there is a pipeline."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

from localcdap.api.app.connections import (
    ConnectionPlugin,
    ConnectionSample,
    ConnectionType,
    ConnectorDetail,
    RelatedPluginDetail,
)
from localcdap.api.connector import (
    BrowseDetail,
    BrowseRequest,
    ConnectorFailure,
    PageRequest,
    RecordPage,
    SampleRequest,
    SampleType,
    SpecificationRequest,
)
from localcdap.api.errors import BadRequestError, LocalcdapError, NotFoundError, PluginError
from localcdap.api.failures import ArtifactId
from localcdap.api.security import Permission
from localcdap.api.serialization.value_types import encode_schema
from localcdap.artifacts.model import ArtifactSelector, PluginRef
from localcdap.artifacts.service import ArtifactService
from localcdap.namespaces.connections import ConnectionService
from localcdap.pipeline.environment import EnvironmentFactory
from localcdap.sandbox.connector_calls import (
    ConnectorAction,
    ConnectorAnswer,
    ConnectorRequest,
    GivenRows,
    WantedRows,
    call_connector,
)
from localcdap.sandbox.record_samples import check_sample_request
from localcdap.security.access import of_namespace, requires

CONNECTOR: Final = "connector"
_MOST_QUESTIONS: Final = 20
"""How often a connector may ask for rows of the instance in one call."""
_SHARE_OF_LIMIT: Final = 0.6
"""Of the time of a call, that a sample may read."""
_PAGE_S: Final = 1.0
"""How long a page of records may read: until a caller that stops has an effect, and the progress moves."""
_SIFTED: Final = (SampleType.MATCHING, SampleType.FAILING)


class ConnectorWorker(Protocol):
    """Runs a job with a plugin; see :class:`localcdap.sandbox.pool.PluginWorkers`."""

    def do(
        self,
        job: Callable[[ConnectorRequest], ConnectorAnswer],
        request: ConnectorRequest,
        plugin: PluginRef,
        who: str,
    ) -> ConnectorAnswer: ...


class RowsOfInstance(Protocol):
    """Fetches rows of the instance; see :class:`localcdap.connectors.stage_rows.InstanceRows`."""

    def fetch(self, namespace: str, wanted: WantedRows, sample: SampleRequest) -> GivenRows: ...


class ConnectorService:
    """Tests, browses and samples connections. Threads may share it.

    The code of connectors runs in plugin workers.

    :param limit_s: seconds that a call of a plugin may take.
    """

    def __init__(
        self,
        connections: ConnectionService,
        artifacts: ArtifactService,
        environments: EnvironmentFactory,
        worker: ConnectorWorker,
        rows: RowsOfInstance,
        limit_s: float,
    ) -> None:
        self._connections = connections
        self._artifacts = artifacts
        self._environments = environments
        self._worker = worker
        self._rows = rows
        self._limit_s = limit_s

    @requires(of_namespace())
    def list_types(self, namespace: str) -> list[ConnectionType]:
        """Return the connectors that a namespace sees, by name.

        :raises NotFoundError: when there is no such namespace.
        """
        found = self._artifacts.list_plugins(namespace, type=CONNECTOR)
        return [
            ConnectionType(
                each.name,
                each.description,
                _describe_artifact(each.artifact),
                list(self._artifacts.get_plugin(namespace, CONNECTOR, each.name).properties),
            )
            for each in found
        ]

    @requires(of_namespace(), Permission.EXECUTE)
    def test(
        self, namespace: str, plugin: ConnectionPlugin, name: str = ""
    ) -> list[ConnectorFailure]:
        """Try a connection that need not be stored.

        :returns: why it does not work; empty if it does.
        :raises NotFoundError: when there is no such namespace or connector.
        :raises PluginError: when the connector hung or crashed.
        """
        call = _Call(self, namespace, plugin, name)
        return call.make(ConnectorAction.TEST).failures

    @requires(of_namespace(), Permission.EXECUTE)
    def test_stored(self, namespace: str, name: str) -> list[ConnectorFailure]:
        """Try a stored connection; see :meth:`test`."""
        return self.test(namespace, self._connections.find(namespace, name).plugin, name)

    @requires(of_namespace(), Permission.READ)
    def browse(self, namespace: str, name: str, request: BrowseRequest) -> BrowseDetail:
        """Return what is at a path of a connection.

        :raises NotFoundError: when there is no such namespace, connection, connector or path.
        :raises BadRequestError: when the properties of the connection, or the path, are wrong.
        :raises PluginError: when the connector raised, hung or crashed.
        """
        call = self._open(namespace, name)
        found = call.make(ConnectorAction.BROWSE, browse=request).browsed
        assert found is not None
        return found

    @requires(of_namespace(), Permission.READ)
    def sample(self, namespace: str, name: str, request: SampleRequest) -> ConnectionSample:
        """Return some of the records at a path of a connection, and the stages that read all of them.

        :raises NotFoundError: as for :meth:`browse`.
        :raises BadRequestError: as for :meth:`browse`, and when the request is wrong.
        :raises PluginError: as for :meth:`browse`.
        """
        check_sample_request(request)
        if request.seed is None:  # the same one for every attempt of the call
            request = msgspec.structs.replace(request, seed=secrets.randbelow(2**31))
        call = self._open(namespace, name)
        found = call.make(ConnectorAction.SAMPLE, sample=request)
        assert found.sampled is not None
        properties = dict(request.properties) | found.sampled.properties
        specification = SpecificationRequest(request.path, properties)
        detail = self._specify(call, specification, found.sampled.schema)
        return ConnectionSample(found.sampled, detail)

    @requires(of_namespace(), Permission.READ)
    def read_page(self, namespace: str, name: str, request: PageRequest) -> RecordPage | None:
        """Return the next of all records at a path; None when the connector gives only samples.

        :raises NotFoundError: as for :meth:`browse`.
        :raises BadRequestError: as for :meth:`browse`.
        :raises PluginError: as for :meth:`browse`.
        """
        return self._open(namespace, name).make(ConnectorAction.PAGE, page=request).page

    @requires(of_namespace(), Permission.READ)
    def specify(self, namespace: str, name: str, request: SpecificationRequest) -> ConnectorDetail:
        """Return the stages that read what is at a path of a connection.

        :raises NotFoundError: as for :meth:`browse`.
        :raises BadRequestError: as for :meth:`browse`.
        :raises PluginError: as for :meth:`browse`.
        """
        return self._specify(self._open(namespace, name), request, None)

    def _open(self, namespace: str, name: str) -> _Call:
        found = self._connections.find(namespace, name)
        return _Call(self, namespace, found.plugin, found.name)

    def _specify(self, call: _Call, request: SpecificationRequest, schema: Any) -> ConnectorDetail:
        found = call.make(ConnectorAction.SPECIFY, specification=request)
        document = found.schema or schema
        artifact = _describe_artifact(call.plugin.artifact)
        related = [
            RelatedPluginDetail(
                name=each.name,
                type=each.type,
                properties=each.properties,
                artifact=artifact,
                schema=None if document is None else encode_schema(document),
            )
            for each in found.related
        ]
        return ConnectorDetail(related, found.sample_types)


class _Call:
    """The calls of one connection's connector, with one environment."""

    def __init__(
        self, service: ConnectorService, namespace: str, plugin: ConnectionPlugin, name: str
    ) -> None:
        self._service = service
        self._namespace = namespace
        self._name = name
        self._environment = service._environments.create(namespace)
        self.plugin: Final = self._find_plugin(plugin)
        self._properties = self._evaluate(plugin.properties)

    def make(self, action: ConnectorAction, **requests: Any) -> ConnectorAnswer:
        """Call the connector, as often as it asks for rows of the instance.

        No message of the answer, and no error, has a secret value.
        """
        service, secret = self._service, self._environment.secrets
        sample = requests.get("sample")
        locations = self._environment.locations
        if locations is None:
            raise BadRequestError("This instance reads no files.", "Use an instance with a folder.")
        request = ConnectorRequest(
            self.plugin,
            self._properties,
            action,
            self._namespace,
            self._name,
            locations,
            sift=self._find_sift(sample),
            seconds=_PAGE_S
            if action is ConnectorAction.PAGE
            else _limit_seconds(sample, service._limit_s),
            **requests,
        )
        given: list[GivenRows] = []
        try:
            for _ in range(_MOST_QUESTIONS):
                request.given = given
                who = f"Connector '{self.plugin.name}'"
                answer = service._worker.do(call_connector, request, self.plugin, who)
                if answer.wants is None:
                    return secret.clean([answer])[0] if _may_tell(answer) else answer
                try:
                    rows = service._rows.fetch(self._namespace, answer.wants, request.sample)
                except BadRequestError as error:
                    if action is not ConnectorAction.TEST:
                        raise
                    failure = ConnectorFailure(error.message, error.corrective_action)
                    return secret.clean([ConnectorAnswer(failures=[failure])])[0]
                given.append(rows)
        except LocalcdapError as error:
            error.message = secret.hide(error.message)
            if error.corrective_action is not None:
                error.corrective_action = secret.hide(error.corrective_action)
            raise
        raise PluginError(
            f"Connector '{self.plugin.name}' asked for rows of the instance {_MOST_QUESTIONS} times in one "
            "call.",
            "Correct the connector.",
        )

    def _find_plugin(self, plugin: ConnectionPlugin) -> PluginRef:
        """Return the connector; an artifact that is not there is replaced by one that is."""
        plugins = self._environment.plugins
        try:
            return plugins.require(CONNECTOR, plugin.name, _read_selector(plugin.artifact))
        except NotFoundError:
            return plugins.require(CONNECTOR, plugin.name, ArtifactSelector())

    def _evaluate(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return the properties with secure keys and preferences (``ConnectionHandler.getConnector``)."""
        environment = self._environment
        parser = environment.create_macros(environment.merge_arguments(None, {})).get_parser(False)
        return {name: parser.parse(text) or "" for name, text in properties.items()}

    def _find_sift(self, request: SampleRequest | None) -> PluginRef | None:
        if request is None or request.sampling_type not in _SIFTED:
            return None
        plugins = self._environment.plugins
        found = plugins.require("transform", "Wrangler", ArtifactSelector())
        return plugins.add_method_uses(found, "execute", None)


def _limit_seconds(request: SampleRequest | None, limit_s: float) -> float:
    most = limit_s * _SHARE_OF_LIMIT
    if request is None or not request.timeout_ms:
        return most
    return min(most, request.timeout_ms / 1000)


def _may_tell(answer: ConnectorAnswer) -> bool:
    """Return whether an answer has messages of the connector; records are never changed."""
    return answer.sampled is None and answer.page is None and answer.schema is None


def _read_selector(artifact: Any) -> ArtifactSelector:
    if not isinstance(artifact, dict):
        return ArtifactSelector()
    scope = artifact.get("scope")
    return ArtifactSelector(
        scope.upper() if isinstance(scope, str) else None,
        artifact.get("name"),
        artifact.get("version"),
    )


def _describe_artifact(artifact: ArtifactId) -> dict[str, str]:
    return {"name": artifact.name, "version": artifact.version, "scope": artifact.scope}
