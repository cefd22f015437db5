"""Connections of the studio service, with the OAuth providers and credentials that they use.

Sources: CDAP 6 ``ConnectionHandler`` and ``OAuthHandler``. A provider is called only by requests for tokens:
when a credential is stored, read or checked.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from localcdap.api.app.connections import Connection, ConnectionPlugin
from localcdap.api.connector import BrowseRequest, SampleRequest, SpecificationRequest
from localcdap.namespaces.model import SYSTEM
from localcdap.namespaces.oauth import (
    BASIC_AUTH,
    FORM_BODY,
    OAuthClient,
    OAuthProvider,
)
from localcdap.server.rest.answers import (
    DONE,
    Answer,
    RestError,
    name_missing,
    send_json,
    send_text,
)
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable
from localcdap.server.rest.routes.studio import (
    convert_part,
    list_studio_patterns,
    read_object,
    require_context,
)

CONNECTIONS: Final = RouteTable("Connections")
_ALL: Final = "/contexts/{namespace}/connections"
_ONE: Final = f"{_ALL}/{{connection}}"
_EMPTY: Final = "The request body is empty"


@CONNECTIONS.add("GET", *list_studio_patterns(_ALL))
def list_connections(request: RestRequest) -> Answer:
    _require_context(request, "Listing connections")
    return send_json(request.cdap.connections.list_connections(request.namespace))


@CONNECTIONS.add("GET", *list_studio_patterns(_ONE))
def get_connection(request: RestRequest) -> Answer:
    _require_context(request, "Getting connection")
    return send_json(_find(request))


@CONNECTIONS.add("PUT", *list_studio_patterns(_ONE))
def put_connection(request: RestRequest) -> Answer:
    """Create a connection, or replace that of the name; with ``overWrite`` also another of the same id."""
    _require_context(request, "Creating connection")
    given = read_object(request, _EMPTY)
    document = {**given, "name": request.path["connection"]}
    rename = bool(given.get("overWrite"))
    request.cdap.connections.load(request.namespace, document, rename=rename)
    return DONE


@CONNECTIONS.add("DELETE", *list_studio_patterns(_ONE))
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


@CONNECTIONS.add("POST", *list_studio_patterns(f"{_ALL}/test"))
def test_connection(request: RestRequest) -> Answer:
    """Try a connection that need not be stored; the answer has the failures, or is empty."""
    _require_context(request, "Testing connection")
    plugin = convert_part(read_object(request, _EMPTY).get("plugin"), ConnectionPlugin)
    failures = request.cdap.connectors.test(request.namespace, plugin)
    return send_json(failures) if failures else DONE


@CONNECTIONS.add("POST", *list_studio_patterns(f"{_ONE}/browse"))
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


@CONNECTIONS.add("POST", *list_studio_patterns(f"{_ONE}/sample"))
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


@CONNECTIONS.add("POST", *list_studio_patterns(f"{_ONE}/specification"))
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


OAUTH: Final = RouteTable("OAuth")
_PROVIDER: Final = "/oauth/provider/{provider}"
_CREDENTIAL: Final = f"{_PROVIDER}/credential/{{credential}}"
_INVALID: Final = "Invalid JSON: {}"


@OAUTH.add("PUT", *list_studio_patterns(_PROVIDER))
def put_provider(request: RestRequest) -> Answer:
    """Store a provider; with ``reuse_client_credentials`` it keeps those that it has."""
    given: dict[str, Any] = request.decode(dict, _INVALID, missing={})
    provider = OAuthProvider(
        _read_url(given, "loginURL"),
        _read_url(given, "tokenRefreshURL"),
        given.get("credentialEncodingStrategy") or FORM_BODY,
        given.get("userAgent"),
    )
    if provider.strategy not in (FORM_BODY, BASIC_AUTH):
        raise RestError(
            400,
            f"Invalid provider: credentialEncodingStrategy must be {FORM_BODY} or {BASIC_AUTH}, not "
            f"{provider.strategy!r}",
        )
    if not isinstance(provider.user_agent, str | None):
        raise RestError(400, "Invalid provider: userAgent must be a text")
    client = None
    if not request.get_flag("reuse_client_credentials"):
        client = OAuthClient(
            _require_filled_text(given, "clientId", "Invalid provider: Client ID missing"),
            _require_filled_text(given, "clientSecret", "Invalid provider: Client secret missing"),
        )
    request.cdap.oauth.put_provider(request.path["provider"], provider, client)
    return DONE


@OAUTH.add("DELETE", *list_studio_patterns(_PROVIDER))
def delete_provider(request: RestRequest) -> Answer:
    request.cdap.oauth.delete_provider(request.path["provider"])
    return DONE


@OAUTH.add("GET", *list_studio_patterns(f"{_PROVIDER}/authurl"))
def get_login_url(request: RestRequest) -> Answer:
    target = request.get("redirect_uri") or request.get("redirect_url")
    return send_text(request.cdap.oauth.get_login_url(request.path["provider"], target))


@OAUTH.add("PUT", *list_studio_patterns(_CREDENTIAL))
def put_credential(request: RestRequest) -> Answer:
    given: dict[str, Any] = request.decode(dict, _INVALID, missing={})
    code = _require_filled_text(given, "oneTimeCode", "Invalid request: missing one-time code")
    target = _require_filled_text(given, "redirectURI", "Invalid request: missing redirect URI")
    request.cdap.oauth.exchange_code(*_read_names(request), code, target)
    return DONE


@OAUTH.add("GET", *list_studio_patterns(_CREDENTIAL))
def get_token(request: RestRequest) -> Answer:
    return send_json(request.cdap.oauth.get_token(*_read_names(request)))


@OAUTH.add("GET", *list_studio_patterns(f"{_CREDENTIAL}/valid"))
def is_valid(request: RestRequest) -> Answer:
    return send_json({"valid": request.cdap.oauth.is_valid(*_read_names(request))})


def _read_names(request: RestRequest) -> tuple[str, str]:
    return request.path["provider"], request.path["credential"]


def _require_filled_text(values: dict[str, Any], name: str, missing: str) -> str:
    found = values.get(name)
    if not isinstance(found, str) or not found:
        raise RestError(400, missing)
    return found


def _read_url(values: dict[str, Any], name: str) -> str:
    """Return an address of the body.

    :raises RestError: when it is not one of HTTP (400).
    """
    text = values.get(name)
    if not isinstance(text, str):
        raise RestError(400, f"Invalid URL: {name} is missing")
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise RestError(400, f"Invalid URL: {error}") from None
    if not parts.scheme:
        raise RestError(400, f"Invalid URL: no protocol: {text}")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise RestError(400, f"Invalid URL: {text} is not an address of HTTP")
    return text
