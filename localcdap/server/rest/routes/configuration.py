"""Settings of the original's pages, with drafts of CDAP 5, and states of applications.

See CDAP 6 ``ConsoleSettingsHttpHandler`` and ``AppStateHandler``. localcdap stores both for its clients.
"""

from __future__ import annotations

from typing import Any, Final

from localcdap.namespaces.model import SYSTEM
from localcdap.security.principals import current_principal
from localcdap.server.rest.answers import BYTES, DONE, Answer, RestError, send_json
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable

ROUTES: Final = RouteTable("Configuration and states")
_USER: Final = "/v3/configuration/user"
_SETTINGS: Final = "page settings"
_STATE: Final = "state"
_STATES: Final = "/v3/namespaces/{namespace}/apps/{app}/state"
_LARGEST: Final = 1024 * 1024


@ROUTES.add("GET", _USER)
def get_settings(request: RestRequest) -> Answer:
    """Return what the pages keep for a user, such as the drafts of CDAP 5."""
    name = current_principal().name
    found = request.cdap.client_documents.find(SYSTEM, _SETTINGS, name)
    return send_json({"id": name, "property": {} if found is None else found.document})


@ROUTES.add("PUT", _USER)
def put_settings(request: RestRequest) -> Answer:
    given: Any = request.decode(dict, "Invalid JSON in body", missing={})
    request.cdap.client_documents.put(SYSTEM, _SETTINGS, current_principal().name, given)
    return DONE


@ROUTES.add("DELETE", _USER)
def delete_settings(request: RestRequest) -> Answer:
    request.cdap.client_documents.put(SYSTEM, _SETTINGS, current_principal().name, {})
    return DONE


@ROUTES.add("GET", f"{_STATES}/{{key}}")
def get_state(request: RestRequest) -> Answer:
    found = request.cdap.client_documents.find(request.namespace, _STATE, _get_name(request))
    if found is None:
        raise RestError(
            404, f"State of application with key '{request.path['key']}' was not found."
        )
    return Answer(bytes.fromhex(found.document), BYTES)


@ROUTES.add("PUT", f"{_STATES}/{{key}}")
def put_state(request: RestRequest) -> Answer:
    data = request.body.read()
    if len(data) > _LARGEST:
        raise RestError(413, "The state of an application can have at most 1 MB.")
    request.cdap.client_documents.put(request.namespace, _STATE, _get_name(request), data.hex())
    return DONE


@ROUTES.add("DELETE", f"{_STATES}/{{key}}")
def delete_state(request: RestRequest) -> Answer:
    name = _get_name(request)
    if request.cdap.client_documents.find(request.namespace, _STATE, name) is not None:
        request.cdap.client_documents.delete(request.namespace, _STATE, name)
    return DONE


@ROUTES.add("DELETE", _STATES)
def delete_states(request: RestRequest) -> Answer:
    app = _find_app(request)
    for each in request.cdap.client_documents.list_documents(request.namespace, _STATE):
        if each.name.startswith(f"{app}/"):
            request.cdap.client_documents.delete(request.namespace, _STATE, each.name)
    return DONE


def _get_name(request: RestRequest) -> str:
    return f"{_find_app(request)}/{request.path['key']}"


def _find_app(request: RestRequest) -> str:
    """Return the name of the application of the path.

    :raises NotFoundError: when there is none.
    """
    return request.cdap.applications.find(request.namespace, request.path["app"]).name
