"""Named connections to systems: entities of the application that manages them, kept in its table."""

from __future__ import annotations

import re
from typing import Any, Final, Protocol

import msgspec

from localcdap.api.app.namespaces import namespaced_table
from localcdap.api.app.table import FieldType
from localcdap.api.connector import (
    BrowseDetail,
    BrowseRequest,
    ConnectorFailure,
    RecordSample,
    RelatedPlugin,
    SampleRequest,
    SpecificationRequest,
)

CONNECTIONS: Final = namespaced_table(
    "connections_store",
    fields={
        "connection_id": FieldType.STRING,
        "createdtimemillis": FieldType.LONG,
        "updatedtimemillis": FieldType.LONG,
        "connection_data": FieldType.STRING,
    },
    primary_key=["connection_id"],
)
"""The table of connections (CDAP ``ConnectionStore``)."""
_NOT_IN_ID: Final = re.compile(r"[^a-z0-9_]")


class ConnectionPlugin(msgspec.Struct, rename="camel"):
    """The connector plugin of a connection, with the properties of the connection."""

    name: str
    type: str = "connector"
    category: str | None = None
    properties: dict[str, str] = {}
    artifact: Any = None


class Connection(msgspec.Struct, rename="camel"):
    """A connection as Data Fusion exports it (CDAP ``Connection``)."""

    name: str
    connection_type: str
    plugin: ConnectionPlugin
    description: str = ""
    created_time_millis: int = 0
    updated_time_millis: int = 0
    connection_id: str = ""
    """Equal ids mean the same connection, see :func:`to_connection_id`."""
    pre_configured: bool = False
    is_default: bool = False
    tags: list[str] = []


class ConnectionType(msgspec.Struct, rename="camel"):
    """A kind of connections: a connector plugin."""

    type: str
    """The name of the plugin."""
    description: str
    artifact: Any
    properties: list[str]
    """The names of its properties."""


class RelatedPluginDetail(RelatedPlugin, rename="camel", kw_only=True):
    """A plugin that reads what a path names, with its artifact and the schema of its records."""

    artifact: Any = None
    schema: Any = None
    """The decoded schema; None when the connector does not know it."""


class ConnectorDetail(msgspec.Struct, rename="camel"):
    """The stages that read what a path of a connection names (CDAP ``ConnectorDetail``)."""

    related_plugins: list[RelatedPluginDetail]
    supported_sample_types: list[str]


class ConnectionSample(msgspec.Struct):
    """A sample of what a path of a connection names, with the stages that read all of it."""

    result: RecordSample
    detail: ConnectorDetail


class Connections(Protocol):
    """The connections of namespaces, for an application. Each call acts for the user who called it.

    The code of connectors runs in another process, with limits of time and memory. One that raises, hangs or
    crashes is a PluginError here.
    """

    def list_connections(self, namespace: str) -> list[Connection]:
        """Return the connections of a namespace, by name.

        :raises NotFoundError: when there is no such namespace, as all methods do.
        """
        ...

    def get(self, namespace: str, name: str) -> Connection:
        """Return a connection, with ``${secure(key)}`` for secret values.

        :raises NotFoundError: when there is no such connection.
        """
        ...

    def put(self, namespace: str, connection: Connection, *, overwrite: bool = True) -> Connection:
        """Store a connection under its name; secret values become secure keys.

        :raises BadRequestError: when its name or type is empty.
        :raises ConflictError: when there is another one of the same id, or one at all and ``overwrite`` is
            not set.
        """
        ...

    def delete(self, namespace: str, name: str) -> None:
        """Delete a connection and the secure keys of its values.

        :raises NotFoundError: when there is no such connection.
        """
        ...

    def list_types(self, namespace: str) -> list[ConnectionType]:
        """Return the connectors that a namespace sees, by name."""
        ...

    def test(self, namespace: str, plugin: ConnectionPlugin) -> list[ConnectorFailure]:
        """Try a connection that need not be stored; return why it does not work, empty if it does.

        :raises BadRequestError: when there is no such connector.
        """
        ...

    def browse(self, namespace: str, name: str, request: BrowseRequest) -> BrowseDetail:
        """Return what is at a path.

        :raises NotFoundError: when there is no such connection or path.
        :raises BadRequestError: when the properties or the path are wrong.
        """
        ...

    def sample(self, namespace: str, name: str, request: SampleRequest) -> ConnectionSample:
        """Return some of the records at a path.

        :raises NotFoundError: when there is no such connection or path.
        :raises BadRequestError: when the properties, the path or the request are wrong.
        """
        ...

    def specify(self, namespace: str, name: str, request: SpecificationRequest) -> ConnectorDetail:
        """Return the stages that read what is at a path.

        :raises NotFoundError: when there is no such connection or path.
        :raises BadRequestError: when the properties or the path are wrong.
        """
        ...


def to_connection_id(name: str) -> str:
    """Return the id of a connection (CDAP ``ConnectionId``).

    >>> to_connection_id(" My DB-2 ")
    'my_db_2'
    """
    return _NOT_IN_ID.sub("_", name.strip().lower())
