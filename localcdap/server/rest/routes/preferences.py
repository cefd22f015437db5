"""Preferences on all levels (CDAP 6 ``PreferencesHttpHandler``)."""

from __future__ import annotations

from typing import Final

from localcdap.api.errors import NotFoundError
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.server.rest.answers import DONE, Answer, RestError, send_json
from localcdap.server.rest.programs import list_patterns, read_program, require_pipeline
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable

ROUTES: Final = RouteTable("Preferences")
_NAMESPACE: Final = "/v3/namespaces/{namespace}"
_PATTERNS: Final = (
    "/v3/preferences",
    f"{_NAMESPACE}/preferences",
    f"{_NAMESPACE}/apps/{{app}}/preferences",
    list_patterns("/preferences")[0],
)
_INVALID: Final = "Invalid JSON in body"


@ROUTES.add("GET", *_PATTERNS)
def get_preferences(request: RestRequest) -> Answer:
    level = _read_level(request)
    if request.get_flag("resolved"):
        return send_json(request.cdap.preferences.resolve(level))
    return send_json(request.cdap.preferences.get(level))


@ROUTES.add("PUT", *_PATTERNS)
def replace_preferences(request: RestRequest) -> Answer:
    level = _read_level(request)
    request.cdap.preferences.replace(level, request.decode_texts(_INVALID))
    return DONE


@ROUTES.add("DELETE", *_PATTERNS)
def delete_preferences(request: RestRequest) -> Answer:
    request.cdap.preferences.delete(_read_level(request))
    return DONE


@ROUTES.add("GET", *(f"{each}/metadata" for each in _PATTERNS))
def get_sequence(request: RestRequest) -> Answer:
    return send_json({"seqId": request.cdap.preferences.get_sequence(_read_level(request))})


def _read_level(request: RestRequest) -> PreferenceLevel:
    """Return the level that the path names.

    :raises RestError: when a namespace, an application or a program does not exist (404).
    """
    namespace, app = request.path.get("namespace"), request.path.get("app")
    if namespace is None:
        return PreferenceLevel()
    if not request.cdap.namespaces.exists(namespace):
        raise RestError(404, f"Namespace {namespace} not present")
    if app is None:
        return PreferenceLevel(namespace)
    try:
        request.cdap.applications.find(namespace, app)
    except NotFoundError:
        raise RestError(404, f"Application {app} in Namespace {namespace} not present") from None
    if "program" not in request.path:
        return PreferenceLevel(namespace, app)
    ref = read_program(request)
    require_pipeline(request.cdap, ref)
    return PreferenceLevel(namespace, app, f"{ref.category}/{ref.program}")
