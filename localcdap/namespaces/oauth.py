"""OAuth providers and credentials, whose tokens pipelines use as ``${oauth(provider,credential)}``.

As in CDAP 6 (``OAuthStore``, ``OAuthHandler``) the client credentials and tokens are secure keys of the
namespace ``system``. A provider is called only for a token: when a credential is stored, checked or used.
"""

from __future__ import annotations

import threading
import time
from http import HTTPStatus
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError, NotFoundError, OAuthError
from localcdap.api.security import Permission
from localcdap.decoders import convert, decode_json
from localcdap.namespaces.client_documents import ClientDocumentService
from localcdap.namespaces.model import SYSTEM
from localcdap.namespaces.secure_keys import SecureKeyService
from localcdap.security.access import OF_INSTANCE, requires

FORM_BODY: Final = "FORM_BODY"
BASIC_AUTH: Final = "BASIC_AUTH"


class OAuthProvider(msgspec.Struct):
    """A provider of tokens (CDAP 6 ``OAuthProvider``), without its client credentials."""

    login_url: str
    token_refresh_url: str
    strategy: str
    """How the client credentials are sent: ``FORM_BODY`` or ``BASIC_AUTH``."""
    user_agent: str | None


class OAuthClient(msgspec.Struct, rename={"id": "clientId", "secret": "clientSecret"}):
    """The client credentials of a provider."""

    id: str
    secret: str


class RefreshToken(msgspec.Struct, rename={"token": "refreshToken", "redirect_uri": "redirectURI"}):
    """A token for which a provider gives access tokens."""

    token: str
    redirect_uri: str


class TokenAnswer(msgspec.Struct):
    """What a provider answered to a request for tokens."""

    status: int
    reason: str
    text: str
    """The body; that of a refusal without the secrets of the request."""

    def decode(self) -> dict[str, Any]:
        """Return the tokens; none when the answer is not a JSON object."""
        try:
            found = decode_json(self.text.encode())
        except msgspec.DecodeError:
            return {}
        return found if isinstance(found, dict) else {}

    def require_success(self, what: str) -> dict[str, Any]:
        """Return the tokens.

        :raises OAuthError: with the status of the provider, when that is another one than 200.
        """
        if self.status != HTTPStatus.OK:
            raise OAuthError(
                f"Request for {what} did not return 200. Response code: {self.status} , response message: "
                f"{self.reason} , response body: {self.text}",
                status=self.status if self.status >= 400 else 502,
            )
        return self.decode()


_KIND: Final = "OAuth provider"
_CLIENT: Final = "oauthclientcreds"
_REFRESH_TOKEN: Final = "oauthrefreshtoken"  # noqa: S105 - a part of names
_ACCESS_TOKEN: Final = "oauthaccesstoken"  # noqa: S105
_RECENT_S: Final = 60.0
"""Seconds for which macros get the same token: validation evaluates them after each edit."""


class OAuthService:
    """The providers and credentials of an instance. Threads may share it."""

    def __init__(self, documents: ClientDocumentService, keys: SecureKeyService) -> None:
        self._documents = documents
        self._keys = keys
        self._asking = threading.Lock()
        """Held during a request: of two with the same refresh token, a provider may refuse one."""
        self._recent: dict[tuple[str, str], tuple[float, dict[str, str]]] = {}
        """When tokens were received, and these, by the lower-case names of provider and credential."""

    @requires(OF_INSTANCE, Permission.ADMIN)
    def put_provider(self, name: str, provider: OAuthProvider, client: OAuthClient | None) -> None:
        """Store a provider.

        :param client: None keeps the client credentials that it has.
        :raises BadRequestError: when it has none that could be kept.
        """
        if client is not None:
            self._put_key(_CLIENT, (name,), client, "OAuth client creds")
        elif self._read_key(_CLIENT, (name,)) is None:
            raise BadRequestError("Client credential should be present in the secure store")
        self._documents.put(SYSTEM, _KIND, name, msgspec.structs.asdict(provider))
        self._recent.clear()

    @requires(OF_INSTANCE, Permission.ADMIN)
    def delete_provider(self, name: str) -> None:
        """Delete a provider with its client credentials, if it exists; its credentials stay."""
        if self._documents.find(SYSTEM, _KIND, name) is None:
            return
        self._documents.delete(SYSTEM, _KIND, name)
        if self._read_key(_CLIENT, (name,)) is not None:
            self._keys.delete(SYSTEM, _name_key(_CLIENT, (name,)))
        self._recent.clear()

    @requires(OF_INSTANCE, Permission.READ)
    def get_login_url(self, name: str, redirect_uri: str | None) -> str:
        """Return the address at which a user logs in to a provider.

        :raises NotFoundError: when there is no such provider.
        """
        provider, client = self._get_provider(name)
        url = provider.login_url
        separator = "?" if "?" not in url else "" if url.endswith("&") else "&"
        return f"{url}{separator}client_id={client.id}&redirect_uri={redirect_uri}"

    @requires(OF_INSTANCE, Permission.ADMIN)
    def exchange_code(self, name: str, credential: str, code: str, redirect_uri: str) -> None:
        """Exchange the code of a login for a token, and store that.

        :raises NotFoundError: when there is no such provider.
        :raises BadRequestError: when its answer has no token.
        :raises OAuthError: when it refuses the code, or cannot be reached.
        """
        fields = {"code": code, "redirect_uri": redirect_uri, "grant_type": "authorization_code"}
        problem = "Error while fetching refresh token"
        answer = self._request_tokens(name, fields, problem)
        tokens = answer.require_success("refresh token")
        if refresh := _find_text(tokens, "refresh_token"):
            self._put_refresh_token(name, credential, RefreshToken(refresh, redirect_uri))
        elif access := _find_text(tokens, "access_token"):
            value = {"accessToken": access}
            self._put_key(_ACCESS_TOKEN, (name, credential), value, "OAuth access token")
        else:
            raise BadRequestError(
                "Refresh token response body did not contain a refresh token or access token"
            )
        self._recent.pop(_to_recent_key(name, credential), None)

    @requires(OF_INSTANCE, Permission.READ)
    def get_token(self, name: str, credential: str) -> dict[str, str]:
        """Ask a provider for an access token, unless its only token is one.

        :returns: ``accessToken``, and ``instanceURL`` if the provider names one.
        :raises NotFoundError: when there is no such provider or credential.
        :raises BadRequestError: when the answer of the provider has no token.
        :raises OAuthError: when it refuses the credential, or cannot be reached.
        """
        with self._asking:
            found = self._ask_for_token(name, credential)
            self._recent[_to_recent_key(name, credential)] = time.monotonic(), found
        return found

    @requires(OF_INSTANCE, Permission.READ)
    def get_recent_token(self, name: str, credential: str) -> dict[str, str]:
        """Return a token as :meth:`get_token`, one that was received up to a minute ago if there is one."""
        received, token = self._recent.get(_to_recent_key(name, credential), (0.0, None))
        if token is not None and time.monotonic() - received < _RECENT_S:
            return token
        return self.get_token(name, credential)

    @requires(OF_INSTANCE, Permission.READ)
    def is_valid(self, name: str, credential: str) -> bool:
        """Ask a provider whether it gives an access token for a credential.

        :raises NotFoundError: when there is no such provider or credential.
        :raises OAuthError: when the provider cannot be reached.
        """
        self._get_provider(name)
        stored = self._find_refresh_token(name, credential)
        if stored is None:
            raise NotFoundError(f"Unknown OAuth credential: {credential}")
        with self._asking:
            answer = self._refresh(name, credential, stored, "Error while fetching refresh token")
        return (
            answer.status == HTTPStatus.OK
            and _find_text(answer.decode(), "access_token") is not None
        )

    def _ask_for_token(self, name: str, credential: str) -> dict[str, str]:
        self._get_provider(name)
        stored = self._find_refresh_token(name, credential)
        if stored is None:
            kept = self._read_key(_ACCESS_TOKEN, (name, credential))
            if kept is None:
                raise NotFoundError(f"Unknown OAuth access token: {credential}")
            return {"accessToken": str(kept["accessToken"]), "instanceURL": ""}
        answer = self._refresh(name, credential, stored, "Failed to fetch access token")
        tokens = answer.require_success("access token")
        access = _find_text(tokens, "access_token")
        if access is None:  # the original shows the answer, which may hold another token
            raise BadRequestError(
                "Access token response body does not have access token. It has: "
                f"{', '.join(sorted(tokens)) or 'nothing'}"
            )
        found = {"accessToken": access, "instanceURL": _find_text(tokens, "instance_url")}
        return {key: value for key, value in found.items() if value is not None}

    def _refresh(
        self, name: str, credential: str, stored: RefreshToken, problem: str
    ) -> TokenAnswer:
        """Ask for an access token, and store the new refresh token that a provider may give with it."""
        fields = {"grant_type": "refresh_token", "refresh_token": stored.token}
        answer = self._request_tokens(name, fields, problem)
        refresh = (
            _find_text(answer.decode(), "refresh_token") if answer.status == HTTPStatus.OK else None
        )
        if refresh is not None and refresh != stored.token:
            self._put_refresh_token(name, credential, RefreshToken(refresh, stored.redirect_uri))
        return answer

    def _request_tokens(self, name: str, fields: dict[str, str], problem: str) -> TokenAnswer:
        # An instance without a provider needs neither TLS nor an HTTP client.
        from localcdap.namespaces.oauth_requests import request_tokens

        return request_tokens(*self._get_provider(name), fields, problem)

    def _get_provider(self, name: str) -> tuple[OAuthProvider, OAuthClient]:
        """:raises NotFoundError: when there is no such provider."""
        found = self._documents.find(SYSTEM, _KIND, name)
        client = None if found is None else self._read_key(_CLIENT, (name,))
        if found is None or client is None:
            raise NotFoundError(f"Unknown OAuth provider: {name}")
        return convert(found.document, OAuthProvider), convert(client, OAuthClient)

    def _put_refresh_token(self, name: str, credential: str, token: RefreshToken) -> None:
        self._put_key(_REFRESH_TOKEN, (name, credential), token, "OAuth refresh token")

    def _find_refresh_token(self, name: str, credential: str) -> RefreshToken | None:
        found = self._read_key(_REFRESH_TOKEN, (name, credential))
        return None if found is None else convert(found, RefreshToken)

    def _put_key(self, kind: str, names: tuple[str, ...], value: Any, description: str) -> None:
        text = msgspec.json.encode(value).decode()
        self._keys.put(SYSTEM, _name_key(kind, names), text, description)

    def _read_key(self, kind: str, names: tuple[str, ...]) -> Any:
        try:
            return decode_json(self._keys.get(SYSTEM, _name_key(kind, names)).encode())
        except NotFoundError:
            return None


def _name_key(kind: str, names: tuple[str, ...]) -> str:
    return "-".join((kind, *(each.lower() for each in names)))


def _to_recent_key(name: str, credential: str) -> tuple[str, str]:
    return name.lower(), credential.lower()


def _find_text(values: dict[str, Any], name: str) -> str | None:
    found = values.get(name)
    return found if isinstance(found, str) and found else None
