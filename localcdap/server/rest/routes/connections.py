"""Connections of the studio service (CDAP 6 ``ConnectionHandler``)."""

from __future__ import annotations

from typing import Final

from localcdap.api.app.connections import Connection, ConnectionPlugin
from localcdap.api.connector import BrowseRequest, SampleRequest, SpecificationRequest
from localcdap.namespaces.model import SYSTEM
from localcdap.server.rest.answers import DONE, Answer, RestError, name_missing, send_json
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable
from localcdap.server.rest.routes.studio import (
    convert_part,
    list_studio_patterns,
    read_object,
    require_context,
)

ROUTES: Final = RouteTable("Connections")
_ALL: Final = "/contexts/{namespace}/connections"
_ONE: Final = f"{_ALL}/{{connection}}"
_EMPTY: Final = "The request body is empty"


@ROUTES.add("GET", *list_studio_patterns(_ALL))
def list_connections(request: RestRequest) -> Answer:
    _require_context(request, "Listing connections")
    return send_json(request.cdap.connections.list_connections(request.namespace))


@ROUTES.add("GET", *list_studio_patterns(_ONE))
def get_connection(request: RestRequest) -> Answer:
    _require_context(request, "Getting connection")
    return send_json(_find(request))


@ROUTES.add("PUT", *list_studio_patterns(_ONE))
def put_connection(request: RestRequest) -> Answer:
    """Create a connection, or replace that of the name; with ``overWrite`` also another of the same id."""
    _require_context(request, "Creating connection")
    given = read_object(request, _EMPTY)
    document = {**given, "name": request.path["connection"]}
    rename = bool(given.get("overWrite"))
    request.cdap.connections.load(request.namespace, document, rename=rename)
    return DONE


@ROUTES.add("DELETE", *list_studio_patterns(_ONE))
def delete_connection(request: RestRequest) -> Answer:
    _require_context(request, "Deleting connection")
    if _find(request).pre_configured:
        raise RestError(
            409,
            f"Connection {request.path['connection']} in namespace {request.namespace} is pre-configured "
            "and it cannot be deleted.",
        )
    request.cdap.connections.delete(request.namespace, request.path["connection"])
    return DONE


@ROUTES.add("POST", *list_studio_patterns(f"{_ALL}/test"))
def test_connection(request: RestRequest) -> Answer:
    """Try a connection that need not be stored; the answer has the failures, or is empty."""
    _require_context(request, "Testing connection")
    plugin = convert_part(read_object(request, _EMPTY).get("plugin"), ConnectionPlugin)
    failures = request.cdap.connectors.test(request.namespace, plugin)
    return send_json(failures) if failures else DONE


@ROUTES.add("POST", *list_studio_patterns(f"{_ONE}/browse"))
def browse(request: RestRequest) -> Answer:
    _require_context(request, "Browsing connection")
    given = read_object(request, _EMPTY)
    if given.get("path") is None:
        raise RestError(400, "Path is not provided in the browse request")
    _find(request)
    return send_json(
        request.cdap.connectors.browse(
            request.namespace, request.path["connection"], convert_part(given, BrowseRequest)
        )
    )


@ROUTES.add("POST", *list_studio_patterns(f"{_ONE}/sample"))
def sample(request: RestRequest) -> Answer:
    _require_context(request, "Sampling connection")
    given = read_object(request, _EMPTY)
    if given.get("path") is None:
        raise RestError(400, "Path is not provided in the sample request")
    _find(request)
    found = request.cdap.connectors.sample(
        request.namespace, request.path["connection"], convert_part(given, SampleRequest)
    )
    return send_json({"sample": found.result.records, "detail": found.detail})


@ROUTES.add("POST", *list_studio_patterns(f"{_ONE}/specification"))
def specify(request: RestRequest) -> Answer:
    _require_context(request, "Generating connector spec")
    given = read_object(request, _EMPTY)
    if given.get("path") is None:
        raise RestError(400, "Path is not provided in the sample request")
    _find(request)
    asked = convert_part(given, SpecificationRequest)
    return send_json(
        request.cdap.connectors.specify(request.namespace, request.path["connection"], asked)
    )


def _find(request: RestRequest) -> Connection:
    """Return the connection of the path.

    :raises RestError: when there is none, with the text of CDAP 6 ``ConnectionNotFoundException`` (404).
    """
    name = request.path["connection"]
    with name_missing(f"Connection '{name}' in namespace '{request.namespace}' not found."):
        return request.cdap.connections.find(request.namespace, name)


def _require_context(request: RestRequest, what: str) -> None:
    require_context(request)
    if request.namespace == SYSTEM:
        raise RestError(400, f"{what} in system namespace is currently not supported")
