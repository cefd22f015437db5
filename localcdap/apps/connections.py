"""The connections of namespaces, for applications: each call acts for the user who called the application."""

from __future__ import annotations

from contextlib import AbstractContextManager

from localcdap.api.app.connections import (
    Connection,
    ConnectionPlugin,
    ConnectionSample,
    ConnectionType,
    ConnectorDetail,
)
from localcdap.api.connector import (
    BrowseDetail,
    BrowseRequest,
    ConnectorFailure,
    SampleRequest,
    SpecificationRequest,
)
from localcdap.api.security import SYSTEM_PRINCIPAL, Principal
from localcdap.connectors.service import ConnectorService
from localcdap.namespaces.connections import ConnectionService
from localcdap.security.access import AccessChecks
from localcdap.security.principals import act_as, get_current_user


class AppConnections:
    """A service of the host that only processes of applications call. Threads may share it.

    A process of an application acts as localcdap itself; the calls here name the user for whom it acts, and
    are checked as if that user called the services.
    """

    def __init__(
        self, connections: ConnectionService, connectors: ConnectorService, checks: AccessChecks
    ) -> None:
        self._connections = checks.guard(connections)
        self._connectors = checks.guard(connectors)

    def list_connections(self, user: str, namespace: str) -> list[Connection]:
        """See :meth:`localcdap.namespaces.connections.ConnectionService.list_connections`.

        :param user: as in all methods, who called the application; "" for localcdap itself.
        """
        with _act(user):
            return self._connections.list_connections(namespace)

    def get(self, user: str, namespace: str, name: str) -> Connection:
        """See :meth:`localcdap.namespaces.connections.ConnectionService.find`."""
        with _act(user):
            return self._connections.find(namespace, name)

    def put(self, user: str, namespace: str, connection: Connection, overwrite: bool) -> Connection:
        """See :meth:`localcdap.namespaces.connections.ConnectionService.put`."""
        with _act(user):
            return self._connections.put(namespace, connection, overwrite=overwrite)

    def delete(self, user: str, namespace: str, name: str) -> None:
        """See :meth:`localcdap.namespaces.connections.ConnectionService.delete`."""
        with _act(user):
            self._connections.delete(namespace, name)

    def list_types(self, user: str, namespace: str) -> list[ConnectionType]:
        """See :meth:`localcdap.connectors.service.ConnectorService.list_types`."""
        with _act(user):
            return self._connectors.list_types(namespace)

    def test(self, user: str, namespace: str, plugin: ConnectionPlugin) -> list[ConnectorFailure]:
        """See :meth:`localcdap.connectors.service.ConnectorService.test`."""
        with _act(user):
            return self._connectors.test(namespace, plugin)

    def browse(self, user: str, namespace: str, name: str, request: BrowseRequest) -> BrowseDetail:
        """See :meth:`localcdap.connectors.service.ConnectorService.browse`."""
        with _act(user):
            return self._connectors.browse(namespace, name, request)

    def sample(
        self, user: str, namespace: str, name: str, request: SampleRequest
    ) -> ConnectionSample:
        """See :meth:`localcdap.connectors.service.ConnectorService.sample`."""
        with _act(user):
            return self._connectors.sample(namespace, name, request)

    def specify(
        self, user: str, namespace: str, name: str, request: SpecificationRequest
    ) -> ConnectorDetail:
        """See :meth:`localcdap.connectors.service.ConnectorService.specify`."""
        with _act(user):
            return self._connectors.specify(namespace, name, request)


class CallerConnections:
    """The :class:`localcdap.api.app.connections.Connections` of an application.

    :param service: the service itself, or a proxy.
    """

    def __init__(self, service: AppConnections) -> None:
        self._service = service

    def list_connections(self, namespace: str) -> list[Connection]:
        return self._service.list_connections(_get_user(), namespace)

    def get(self, namespace: str, name: str) -> Connection:
        return self._service.get(_get_user(), namespace, name)

    def put(self, namespace: str, connection: Connection, *, overwrite: bool = True) -> Connection:
        return self._service.put(_get_user(), namespace, connection, overwrite)

    def delete(self, namespace: str, name: str) -> None:
        self._service.delete(_get_user(), namespace, name)

    def list_types(self, namespace: str) -> list[ConnectionType]:
        return self._service.list_types(_get_user(), namespace)

    def test(self, namespace: str, plugin: ConnectionPlugin) -> list[ConnectorFailure]:
        return self._service.test(_get_user(), namespace, plugin)

    def browse(self, namespace: str, name: str, request: BrowseRequest) -> BrowseDetail:
        return self._service.browse(_get_user(), namespace, name, request)

    def sample(self, namespace: str, name: str, request: SampleRequest) -> ConnectionSample:
        return self._service.sample(_get_user(), namespace, name, request)

    def specify(self, namespace: str, name: str, request: SpecificationRequest) -> ConnectorDetail:
        return self._service.specify(_get_user(), namespace, name, request)


def _get_user() -> str:
    return get_current_user() or ""


def _act(user: str) -> AbstractContextManager[None]:
    return act_as(Principal(user) if user else SYSTEM_PRINCIPAL)
