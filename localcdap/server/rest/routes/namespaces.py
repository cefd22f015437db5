"""Namespaces and what is set in them: preferences, secure keys, settings of pages, states of applications.

Sources: CDAP 6 ``NamespaceHttpHandler``, ``PreferencesHttpHandler``, ``SecureStoreHandler``, and
``ConsoleSettingsHttpHandler`` and ``AppStateHandler``, whose values localcdap stores for its clients.
"""

from __future__ import annotations

from typing import Any, Final

from localcdap.api.errors import NotFoundError
from localcdap.namespaces.model import RESERVED, SYSTEM
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.security.principals import current_principal
from localcdap.server.rest.answers import BYTES, DONE, TEXT, Answer, RestError, send_json, send_text
from localcdap.server.rest.programs import list_patterns, read_program, require_pipeline
from localcdap.server.rest.request import RestRequest, to_texts
from localcdap.server.rest.router import RouteTable

NAMESPACES: Final = RouteTable("Namespaces")
_INVALID: Final = "Invalid json object provided in request body."
_ONE: Final = "/v3/namespaces/{namespace}"


@NAMESPACES.add("GET", "/v3/namespaces")
def list_namespaces(request: RestRequest) -> Answer:
    found = request.cdap.namespaces.list_namespaces()
    return send_json([each for each in found if each.name != SYSTEM])


@NAMESPACES.add("GET", _ONE)
def get_namespace(request: RestRequest) -> Answer:
    return send_json(request.cdap.namespaces.describe(request.namespace))


@NAMESPACES.add("PUT", _ONE)
def create_namespace(request: RestRequest) -> Answer:
    description, config = _read_meta(request)
    name = request.namespace
    made = request.cdap.namespaces.create(name, description or "", config)
    if made.created:
        return send_text(f"Namespace '{name}' created successfully.")
    return send_text(f"Namespace '{name}' already exists.")


@NAMESPACES.add("PUT", f"{_ONE}/properties")
def update_namespace(request: RestRequest) -> Answer:
    description, config = _read_meta(request)
    request.cdap.namespaces.update(request.namespace, description, config)
    return send_text(f"Updated properties for namespace '{request.namespace}'.")


@NAMESPACES.add(
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


@NAMESPACES.add("DELETE", "/v3/unrecoverable/namespaces/{namespace}/datasets")
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


PREFERENCES: Final = RouteTable("Preferences")

_PATTERNS: Final = (
    "/v3/preferences",
    f"{_ONE}/preferences",
    f"{_ONE}/apps/{{app}}/preferences",
    list_patterns("/preferences")[0],
)
_INVALID_PREFERENCES: Final = "Invalid JSON in body"


@PREFERENCES.add("GET", *_PATTERNS)
def get_preferences(request: RestRequest) -> Answer:
    level = _read_level(request)
    if request.get_flag("resolved"):
        return send_json(request.cdap.preferences.resolve(level))
    return send_json(request.cdap.preferences.get(level))


@PREFERENCES.add("PUT", *_PATTERNS)
def replace_preferences(request: RestRequest) -> Answer:
    level = _read_level(request)
    request.cdap.preferences.replace(level, request.decode_texts(_INVALID_PREFERENCES))
    return DONE


@PREFERENCES.add("DELETE", *_PATTERNS)
def delete_preferences(request: RestRequest) -> Answer:
    request.cdap.preferences.delete(_read_level(request))
    return DONE


@PREFERENCES.add("GET", *(f"{each}/metadata" for each in _PATTERNS))
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


SECURE_KEYS: Final = RouteTable("Secure keys")
_KEYS: Final = "/v3/namespaces/{namespace}/securekeys"
_KEY: Final = f"{_KEYS}/{{key}}"
_FORMAT: Final = (
    "Unable to parse the request. The request body should be of the following format. \n"
    '{\n "description" : "[description]", \n "data" : "[data]", \n "properties" : { \n'
    '    "[property-name]" : "[property-value]"\n }\n}'
)


@SECURE_KEYS.add("GET", _KEYS)
def list_keys(request: RestRequest) -> Answer:
    return send_json(request.cdap.secure_keys.list_keys(request.namespace))


@SECURE_KEYS.add("PUT", _KEY)
def put_key(request: RestRequest) -> Answer:
    given = request.decode(dict, _FORMAT, missing={})
    if not given:
        raise RestError(400, _FORMAT)
    properties = given.get("properties") or {}
    texts = to_texts({each: given.get(each) for each in ("data", "description")}, _FORMAT)
    if not isinstance(properties, dict):
        raise RestError(400, _FORMAT)
    request.cdap.secure_keys.put(
        request.namespace,
        request.path["key"],
        texts.get("data", ""),
        texts.get("description", ""),
        to_texts(properties, _FORMAT),
    )
    return DONE


@SECURE_KEYS.add("GET", _KEY)
def get_value(request: RestRequest) -> Answer:
    value = request.cdap.secure_keys.get(request.namespace, request.path["key"])
    return Answer(value.encode("utf-8", "replace"), TEXT.replace(" ", ""))


@SECURE_KEYS.add("GET", f"{_KEY}/metadata")
def get_key(request: RestRequest) -> Answer:
    return send_json(request.cdap.secure_keys.describe(request.namespace, request.path["key"]))


@SECURE_KEYS.add("DELETE", _KEY)
def delete_key(request: RestRequest) -> Answer:
    request.cdap.secure_keys.delete(request.namespace, request.path["key"])
    return DONE


CONFIGURATION: Final = RouteTable("Configuration and states")
_USER: Final = "/v3/configuration/user"
_SETTINGS: Final = "page settings"
_STATE: Final = "state"
_STATES: Final = "/v3/namespaces/{namespace}/apps/{app}/state"
_LARGEST: Final = 1024 * 1024


@CONFIGURATION.add("GET", _USER)
def get_settings(request: RestRequest) -> Answer:
    """Return what the pages keep for a user, such as the drafts of CDAP 5."""
    name = current_principal().name
    found = request.cdap.client_documents.find(SYSTEM, _SETTINGS, name)
    return send_json({"id": name, "property": {} if found is None else found.document})


@CONFIGURATION.add("PUT", _USER)
def put_settings(request: RestRequest) -> Answer:
    given: Any = request.decode(dict, "Invalid JSON in body", missing={})
    request.cdap.client_documents.put(SYSTEM, _SETTINGS, current_principal().name, given)
    return DONE


@CONFIGURATION.add("DELETE", _USER)
def delete_settings(request: RestRequest) -> Answer:
    request.cdap.client_documents.put(SYSTEM, _SETTINGS, current_principal().name, {})
    return DONE


@CONFIGURATION.add("GET", f"{_STATES}/{{key}}")
def get_state(request: RestRequest) -> Answer:
    found = request.cdap.client_documents.find(request.namespace, _STATE, _get_name(request))
    if found is None:
        raise RestError(
            404, f"State of application with key '{request.path['key']}' was not found."
        )
    return Answer(bytes.fromhex(found.document), BYTES)


@CONFIGURATION.add("PUT", f"{_STATES}/{{key}}")
def put_state(request: RestRequest) -> Answer:
    data = request.body.read()
    if len(data) > _LARGEST:
        raise RestError(413, "The state of an application can have at most 1 MB.")
    request.cdap.client_documents.put(request.namespace, _STATE, _get_name(request), data.hex())
    return DONE


@CONFIGURATION.add("DELETE", f"{_STATES}/{{key}}")
def delete_state(request: RestRequest) -> Answer:
    name = _get_name(request)
    if request.cdap.client_documents.find(request.namespace, _STATE, name) is not None:
        request.cdap.client_documents.delete(request.namespace, _STATE, name)
    return DONE


@CONFIGURATION.add("DELETE", _STATES)
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
