"""The routes of connections: paths, JSON and texts of CDAP's ``ConnectionHandler``, below version 2."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from localcdap.api import BrowseDetail, BrowseRequest, SampleRequest, SpecificationRequest
from localcdap.api.app import (
    BadRequestError,
    Connection,
    ConnectionPlugin,
    ConnectorDetail,
    NamespaceSummary,
    Permission,
    SystemService,
    delete,
    get,
    post,
    put,
)

_CONNECTIONS: Final = "/v2/contexts/{context}/connections"
_EMPTY: Final = "The request body is empty"


class ConnectionCreationRequest(msgspec.Struct, rename="camel"):
    """A connection to be stored or tested (CDAP ``ConnectionCreationRequest``)."""

    plugin: ConnectionPlugin
    description: str | None = None
    category: str | None = None
    over_write: bool = False
    tags: list[str] = []


class ConnectionRoutes(SystemService):
    """The part of the service that manages connections."""

    @get("/v2/contexts/{context}/connectionTypes", operation="Listing connection types")
    def list_connection_types(self, context: NamespaceSummary) -> list[Any]:
        """List the connectors of a namespace."""
        return list(self.context.connections.list_types(context.name))

    @get(_CONNECTIONS, operation="Listing connections")
    def list_connections(self, context: NamespaceSummary) -> list[Connection]:
        """List the connections of a namespace."""
        return self.context.connections.list_connections(context.name)

    @get(_CONNECTIONS + "/{connection}", operation="Getting connection")
    def get_connection(self, context: NamespaceSummary, connection: str) -> Connection:
        """Return a connection, with macros in the place of secret values."""
        return self.context.connections.get(context.name, connection)

    @put(
        _CONNECTIONS + "/{connection}", operation="Creating connection", permission=Permission.ADMIN
    )
    def put_connection(
        self,
        context: NamespaceSummary,
        connection: str,
        body: ConnectionCreationRequest | None = None,
    ) -> None:
        """Create a connection, or replace it when ``overWrite`` is true."""
        if body is None:
            raise BadRequestError(_EMPTY)
        plugin = msgspec.structs.replace(
            body.plugin, category=body.plugin.category or body.category
        )
        made = Connection(
            connection, plugin.name, plugin, body.description or "", tags=list(body.tags)
        )
        self.context.connections.put(context.name, made, overwrite=body.over_write)

    @delete(
        _CONNECTIONS + "/{connection}", operation="Deleting connection", permission=Permission.ADMIN
    )
    def delete_connection(self, context: NamespaceSummary, connection: str) -> None:
        """Delete a connection."""
        self.context.connections.delete(context.name, connection)

    @post(_CONNECTIONS + "/test", operation="Creating connection", permission=Permission.EXECUTE)
    def test_connection(
        self, context: NamespaceSummary, body: ConnectionCreationRequest | None = None
    ) -> list[dict[str, Any]] | None:
        """Try a connection; answer the failures, nothing when there are none."""
        if body is None:
            raise BadRequestError(_EMPTY)
        failures = self.context.connections.test(context.name, body.plugin)
        return [
            {
                "message": each.message,
                "correctiveAction": each.corrective_action,
                "causes": (
                    [{"attributes": {"stageConfig": each.property}}] if each.property else []
                ),
            }
            for each in failures
        ] or None

    @post(
        _CONNECTIONS + "/{connection}/browse",
        operation="Browsing connection",
        permission=Permission.READ,
    )
    def browse_connection(
        self, context: NamespaceSummary, connection: str, body: BrowseRequest | None = None
    ) -> BrowseDetail:
        """List what is at a path of a connection."""
        if body is None:
            raise BadRequestError(_EMPTY)
        if body.path is None:
            raise BadRequestError("Path is not provided in the browse request")
        return self.context.connections.browse(context.name, connection, body)

    @post(
        _CONNECTIONS + "/{connection}/sample",
        operation="Sampling connection",
        permission=Permission.READ,
    )
    def sample_connection(
        self, context: NamespaceSummary, connection: str, body: SampleRequest | None = None
    ) -> dict[str, Any]:
        """Return some of the records at a path of a connection."""
        if body is None:
            raise BadRequestError(_EMPTY)
        if body.path is None:
            raise BadRequestError("Path is not provided in the sample request")
        found = self.context.connections.sample(context.name, connection, body)
        result = found.result
        return {
            "detail": found.detail,
            "schema": result.schema,
            "sample": result.records,
            # Beyond the original, which does not say of how many records this is a sample.
            "description": result.description,
            "total": result.total,
            "isEstimate": result.is_estimate,
            "isComplete": result.is_complete,
            "seed": result.seed,
            "unreadable": result.unreadable,
            "properties": result.properties,
        }

    @post(
        _CONNECTIONS + "/{connection}/specification",
        operation="Generating connector spec",
        permission=Permission.READ,
    )
    def specify_connection(
        self, context: NamespaceSummary, connection: str, body: SpecificationRequest | None = None
    ) -> ConnectorDetail:
        """Return the stages that read what is at a path of a connection."""
        if body is None:
            raise BadRequestError(_EMPTY)
        if body.path is None:
            # The text of the original, also for a specification.
            raise BadRequestError("Path is not provided in the sample request")
        return self.context.connections.specify(context.name, connection, body)
