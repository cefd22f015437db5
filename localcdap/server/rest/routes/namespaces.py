"""Namespaces (CDAP 6 ``NamespaceHttpHandler``)."""

from __future__ import annotations

from typing import Final

from localcdap.api.errors import NotFoundError
from localcdap.namespaces.model import RESERVED, SYSTEM
from localcdap.server.rest.answers import DONE, Answer, RestError, send_json, send_text
from localcdap.server.rest.request import RestRequest, to_texts
from localcdap.server.rest.router import RouteTable

ROUTES: Final = RouteTable("Namespaces")
_INVALID: Final = "Invalid json object provided in request body."
_ONE: Final = "/v3/namespaces/{namespace}"


@ROUTES.add("GET", "/v3/namespaces")
def list_namespaces(request: RestRequest) -> Answer:
    found = request.cdap.namespaces.list_namespaces()
    return send_json([each for each in found if each.name != SYSTEM])


@ROUTES.add("GET", _ONE)
def get_namespace(request: RestRequest) -> Answer:
    return send_json(request.cdap.namespaces.describe(request.namespace))


@ROUTES.add("PUT", _ONE)
def create_namespace(request: RestRequest) -> Answer:
    description, config = _read_meta(request)
    name = request.namespace
    made = request.cdap.namespaces.create(name, description or "", config)
    if made.created:
        return send_text(f"Namespace '{name}' created successfully.")
    return send_text(f"Namespace '{name}' already exists.")


@ROUTES.add("PUT", f"{_ONE}/properties")
def update_namespace(request: RestRequest) -> Answer:
    description, config = _read_meta(request)
    request.cdap.namespaces.update(request.namespace, description, config)
    return send_text(f"Updated properties for namespace '{request.namespace}'.")


@ROUTES.add(
    "DELETE",
    "/v3/unrecoverable/namespaces/{namespace}",
    lack="`default` is refused, where the original empties it",
)
def delete_namespace(request: RestRequest) -> Answer:
    """Delete a namespace with all that is in it."""
    if request.namespace in RESERVED:
        raise RestError(403, f"The namespace '{request.namespace}' cannot be deleted.")
    request.cdap.namespaces.delete(request.namespace)
    return DONE


@ROUTES.add("DELETE", "/v3/unrecoverable/namespaces/{namespace}/datasets")
def delete_datasets(request: RestRequest) -> Answer:
    for each in request.cdap.datasets.list_datasets(request.namespace):
        try:
            request.cdap.datasets.drop(request.namespace, each.name)
        except NotFoundError:  # somebody else was faster
            continue
    return DONE


def _read_meta(request: RestRequest) -> tuple[str | None, dict[str, str] | None]:
    """Return the description and the configuration of the body; both may be absent."""
    given = request.decode(dict, _INVALID, missing={})
    description, config = given.get("description"), given.get("config")
    if not isinstance(description, str | None) or not isinstance(config, dict | None):
        raise RestError(400, _INVALID)
    return description, None if config is None else to_texts(config, _INVALID)
