"""OAuth providers and credentials of the studio service (CDAP 6 ``OAuthHandler``).

A provider is called only by requests for tokens: when a credential is stored, read or checked.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from localcdap.server.rest.answers import DONE, Answer, RestError, send_json, send_text
from localcdap.server.rest.oauth import (
    BASIC_AUTH,
    FORM_BODY,
    OAuthClient,
    OAuthProvider,
    OAuthStore,
    RefreshToken,
    TokenAnswer,
    request_tokens,
)
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable
from localcdap.server.rest.routes.studio import list_studio_patterns

ROUTES: Final = RouteTable("OAuth")
_PROVIDER: Final = "/oauth/provider/{provider}"
_CREDENTIAL: Final = f"{_PROVIDER}/credential/{{credential}}"
_INVALID: Final = "Invalid JSON: {}"
_LACK: Final = "pipelines cannot use it yet: the macro function `oauth` has no value in runs"


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
            _read_text(given, "clientId", "Invalid provider: Client ID missing"),
            _read_text(given, "clientSecret", "Invalid provider: Client secret missing"),
        )
    OAuthStore(request.cdap).put_provider(request.path["provider"], provider, client)
    return DONE


@ROUTES.add("DELETE", *list_studio_patterns(_PROVIDER))
def delete_provider(request: RestRequest) -> Answer:
    OAuthStore(request.cdap).delete_provider(request.path["provider"])
    return DONE


@ROUTES.add("GET", *list_studio_patterns(f"{_PROVIDER}/authurl"))
def get_login_url(request: RestRequest) -> Answer:
    """Return the address at which a user logs in to the provider."""
    provider, client = OAuthStore(request.cdap).get_provider(request.path["provider"])
    url = provider.login_url
    separator = "?" if "?" not in url else "" if url.endswith("&") else "&"
    target = request.get("redirect_uri") or request.get("redirect_url")
    return send_text(f"{url}{separator}client_id={client.id}&redirect_uri={target}")


@ROUTES.add("PUT", *list_studio_patterns(_CREDENTIAL), lack=_LACK)
def put_credential(request: RestRequest) -> Answer:
    """Exchange the code of a login for a token, and store that."""
    given: dict[str, Any] = request.decode(dict, _INVALID, missing={})
    code = _read_text(given, "oneTimeCode", "Invalid request: missing one-time code")
    target = _read_text(given, "redirectURI", "Invalid request: missing redirect URI")
    store, name = OAuthStore(request.cdap), request.path["provider"]
    credential = request.path["credential"]
    fields = {"code": code, "redirect_uri": target, "grant_type": "authorization_code"}
    answer = request_tokens(*store.get_provider(name), fields, "Error while fetching refresh token")
    tokens = answer.require_success("refresh token")
    if refresh := _find_text(tokens, "refresh_token"):
        store.put_refresh_token(name, credential, RefreshToken(refresh, target))
    elif access := _find_text(tokens, "access_token"):
        store.put_access_token(name, credential, access)
    else:
        raise RestError(
            400, "Refresh token response body did not contain a refresh token or access token"
        )
    return DONE


@ROUTES.add("GET", *list_studio_patterns(_CREDENTIAL))
def get_access_token(request: RestRequest) -> Answer:
    """Ask the provider for an access token, unless its only token is one."""
    store, name = OAuthStore(request.cdap), request.path["provider"]
    credential = request.path["credential"]
    store.get_provider(name)
    stored = store.find_refresh_token(name, credential)
    if stored is None:
        access = store.find_access_token(name, credential)
        if access is None:
            raise RestError(404, f"Unknown OAuth access token: {credential}")
        return send_json({"accessToken": access, "instanceURL": ""})
    answer = _refresh(store, name, stored, "Failed to fetch access token")
    tokens = answer.require_success("access token")
    access = _find_text(tokens, "access_token")
    if access is None:
        raise RestError(
            400,
            "Access token response body does not have access token. The actual response received : "
            f"{answer.text}",
        )
    refresh = _find_text(tokens, "refresh_token")
    if refresh is not None and refresh != stored.token:
        store.put_refresh_token(name, credential, RefreshToken(refresh, stored.redirect_uri))
    found = {"accessToken": access, "instanceURL": _find_text(tokens, "instance_url")}
    return send_json({key: value for key, value in found.items() if value is not None})


@ROUTES.add("GET", *list_studio_patterns(f"{_CREDENTIAL}/valid"))
def is_valid(request: RestRequest) -> Answer:
    """Answer whether the provider gives an access token for a credential."""
    store, name = OAuthStore(request.cdap), request.path["provider"]
    store.get_provider(name)
    stored = store.find_refresh_token(name, request.path["credential"])
    if stored is None:
        raise RestError(404, f"Unknown OAuth credential: {request.path['credential']}")
    answer = _refresh(store, name, stored, "Error while fetching refresh token")
    has_token = _find_text(answer.decode(), "access_token") is not None
    return send_json({"valid": answer.status == 200 and has_token})


def _refresh(store: OAuthStore, name: str, stored: RefreshToken, problem: str) -> TokenAnswer:
    fields = {"grant_type": "refresh_token", "refresh_token": stored.token}
    return request_tokens(*store.get_provider(name), fields, problem)


def _find_text(values: dict[str, Any], name: str) -> str | None:
    found = values.get(name)
    return found if isinstance(found, str) and found else None


def _read_text(values: dict[str, Any], name: str, missing: str) -> str:
    found = _find_text(values, name)
    if found is None:
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
