"""OAuth providers and credentials of the studio service (CDAP 6 ``OAuthHandler``).

A provider is called only by requests for tokens: when a credential is stored, read or checked.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from localcdap.namespaces.oauth import (
    BASIC_AUTH,
    FORM_BODY,
    OAuthClient,
    OAuthProvider,
)
from localcdap.server.rest.answers import DONE, Answer, RestError, send_json, send_text
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable
from localcdap.server.rest.routes.studio import list_studio_patterns

ROUTES: Final = RouteTable("OAuth")
_PROVIDER: Final = "/oauth/provider/{provider}"
_CREDENTIAL: Final = f"{_PROVIDER}/credential/{{credential}}"
_INVALID: Final = "Invalid JSON: {}"


@ROUTES.add("PUT", *list_studio_patterns(_PROVIDER))
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


@ROUTES.add("DELETE", *list_studio_patterns(_PROVIDER))
def delete_provider(request: RestRequest) -> Answer:
    request.cdap.oauth.delete_provider(request.path["provider"])
    return DONE


@ROUTES.add("GET", *list_studio_patterns(f"{_PROVIDER}/authurl"))
def get_login_url(request: RestRequest) -> Answer:
    target = request.get("redirect_uri") or request.get("redirect_url")
    return send_text(request.cdap.oauth.get_login_url(request.path["provider"], target))


@ROUTES.add("PUT", *list_studio_patterns(_CREDENTIAL))
def put_credential(request: RestRequest) -> Answer:
    given: dict[str, Any] = request.decode(dict, _INVALID, missing={})
    code = _require_filled_text(given, "oneTimeCode", "Invalid request: missing one-time code")
    target = _require_filled_text(given, "redirectURI", "Invalid request: missing redirect URI")
    request.cdap.oauth.exchange_code(*_read_names(request), code, target)
    return DONE


@ROUTES.add("GET", *list_studio_patterns(_CREDENTIAL))
def get_token(request: RestRequest) -> Answer:
    return send_json(request.cdap.oauth.get_token(*_read_names(request)))


@ROUTES.add("GET", *list_studio_patterns(f"{_CREDENTIAL}/valid"))
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
