"""OAuth providers and credentials as they are stored, and the requests to the provider that exchange tokens.

As in CDAP 6 (``OAuthStore``) the client credentials and tokens are secure keys of the namespace ``system``.
"""

from __future__ import annotations

import base64
import http.client
import urllib.error
import urllib.request
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from localcdap.api.errors import NotFoundError
from localcdap.decoders import convert, decode_json
from localcdap.host import Cdap
from localcdap.namespaces.model import SYSTEM
from localcdap.openlineage.http_endpoint import RefuseRedirects
from localcdap.server.rest.answers import RestError, encode

_KIND: Final = "OAuth provider"
_CLIENT: Final = "oauthclientcreds"
_REFRESH_TOKEN: Final = "oauthrefreshtoken"  # noqa: S105 - a part of names
_ACCESS_TOKEN: Final = "oauthaccesstoken"  # noqa: S105
FORM_BODY: Final = "FORM_BODY"
BASIC_AUTH: Final = "BASIC_AUTH"
_TIMEOUT_S: Final = 30
_MOST_ANSWER: Final = 1 << 20


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

    def decode(self) -> dict[str, Any]:
        """Return the tokens; none when the answer is not a JSON object."""
        try:
            found = decode_json(self.text.encode())
        except msgspec.DecodeError:
            return {}
        return found if isinstance(found, dict) else {}

    def require_success(self, what: str) -> dict[str, Any]:
        """Return the tokens.

        :raises RestError: with the code of the provider, when that is another one than 200.
        """
        if self.status != http.client.OK:
            raise RestError(
                self.status if self.status >= 400 else 502,
                f"Request for {what} did not return 200. Response code: {self.status} , response message: "
                f"{self.reason} , response body: {self.text}",
            )
        return self.decode()


class OAuthStore:
    """The providers and credentials of an instance."""

    def __init__(self, cdap: Cdap) -> None:
        self._documents = cdap.client_documents
        self._keys = cdap.secure_keys

    def put_provider(self, name: str, provider: OAuthProvider, client: OAuthClient | None) -> None:
        """Store a provider.

        :param client: None keeps the client credentials that it has.
        :raises RestError: when it has none that could be kept (400).
        """
        if client is not None:
            self._put_key(_CLIENT, (name,), client, "OAuth client creds")
        elif self._read_key(_CLIENT, (name,)) is None:
            raise RestError(400, "Client credential should be present in the secure store")
        self._documents.put(SYSTEM, _KIND, name, msgspec.structs.asdict(provider))

    def get_provider(self, name: str) -> tuple[OAuthProvider, OAuthClient]:
        """:raises RestError: when there is no such provider (404)."""
        found = self._documents.find(SYSTEM, _KIND, name)
        client = None if found is None else self._read_key(_CLIENT, (name,))
        if found is None or client is None:
            raise RestError(404, f"Unknown OAuth provider: {name}")
        return convert(found.document, OAuthProvider), convert(client, OAuthClient)

    def delete_provider(self, name: str) -> None:
        """Delete a provider with its client credentials, if it exists; its credentials stay."""
        if self._documents.find(SYSTEM, _KIND, name) is None:
            return
        self._documents.delete(SYSTEM, _KIND, name)
        if self._read_key(_CLIENT, (name,)) is not None:
            self._keys.delete(SYSTEM, _name_key(_CLIENT, (name,)))

    def put_refresh_token(self, provider: str, credential: str, token: RefreshToken) -> None:
        self._put_key(_REFRESH_TOKEN, (provider, credential), token, "OAuth refresh token")

    def find_refresh_token(self, provider: str, credential: str) -> RefreshToken | None:
        found = self._read_key(_REFRESH_TOKEN, (provider, credential))
        return None if found is None else convert(found, RefreshToken)

    def put_access_token(self, provider: str, credential: str, token: str) -> None:
        """Store an access token of a provider that gives no other."""
        value = {"accessToken": token}
        self._put_key(_ACCESS_TOKEN, (provider, credential), value, "OAuth access token")

    def find_access_token(self, provider: str, credential: str) -> str | None:
        found = self._read_key(_ACCESS_TOKEN, (provider, credential))
        return None if found is None else str(found["accessToken"])

    def _put_key(self, kind: str, names: tuple[str, ...], value: Any, description: str) -> None:
        self._keys.put(SYSTEM, _name_key(kind, names), encode(value).decode(), description)

    def _read_key(self, kind: str, names: tuple[str, ...]) -> Any:
        try:
            return decode_json(self._keys.get(SYSTEM, _name_key(kind, names)).encode())
        except NotFoundError:
            return None


def request_tokens(
    provider: OAuthProvider, client: OAuthClient, fields: dict[str, str], problem: str
) -> TokenAnswer:
    """Ask a provider for tokens.

    :param fields: of the form, without the client credentials.
    :param problem: the beginning of the error when there is no answer.
    :raises RestError: when the provider cannot be reached (502).
    """
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    if provider.strategy == BASIC_AUTH:
        pair = base64.b64encode(f"{client.id}:{client.secret}".encode()).decode()
        headers["Authorization"] = f"Basic {pair}"
    else:
        fields = {**fields, "client_id": client.id, "client_secret": client.secret}
    if provider.user_agent is not None:
        headers["User-Agent"] = provider.user_agent
    try:
        request = urllib.request.Request(  # noqa: S310 - its scheme was checked when it was stored
            provider.token_refresh_url, urlencode(fields).encode(), headers, method="POST"
        )
        opener = urllib.request.build_opener(RefuseRedirects())
        with opener.open(request, timeout=_TIMEOUT_S) as answer:
            return _read_answer(answer.status, answer.reason, answer)
    except urllib.error.HTTPError as error:
        with error:
            return _read_answer(error.code, error.reason, error)
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise RestError(
            502, f"{problem}: {provider.token_refresh_url} cannot be reached: {reason}"
        ) from None


def _read_answer(status: int, reason: str, content: Any) -> TokenAnswer:
    return TokenAnswer(status, reason, content.read(_MOST_ANSWER).decode(errors="replace"))


def _name_key(kind: str, names: tuple[str, ...]) -> str:
    return "-".join((kind, *(each.lower() for each in names)))
