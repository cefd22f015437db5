"""Requests to OAuth providers, and what is stored about these: the JSON that CDAP 6 ``OAuthStore`` stores."""

from __future__ import annotations

import base64
import http.client
import urllib.error
import urllib.request
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from localcdap.api.errors import OAuthError
from localcdap.decoders import decode_json
from localcdap.http_redirects import RefuseRedirects

FORM_BODY: Final = "FORM_BODY"
BASIC_AUTH: Final = "BASIC_AUTH"
_TIMEOUT_S: Final = 30
_MOST_ANSWER: Final = 1 << 20
_HIDDEN: Final = "********"


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
        if self.status != http.client.OK:
            raise OAuthError(
                f"Request for {what} did not return 200. Response code: {self.status} , response message: "
                f"{self.reason} , response body: {self.text}",
                status=self.status if self.status >= 400 else 502,
            )
        return self.decode()


def request_tokens(
    provider: OAuthProvider, client: OAuthClient, fields: dict[str, str], problem: str
) -> TokenAnswer:
    """Ask a provider for tokens.

    :param fields: of the form, without the client credentials.
    :param problem: the beginning of the error when there is no answer.
    :raises OAuthError: when the provider cannot be reached.
    """
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    secrets = [client.secret, *(fields.get(each, "") for each in ("code", "refresh_token"))]
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
            found = _read_answer(error.code, error.reason, error)
        found.text = _hide(found.text, secrets)  # a provider may quote what it refuses
        return found
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise OAuthError(
            f"{problem}: {provider.token_refresh_url} cannot be reached: {reason}"
        ) from None


def _read_answer(status: int, reason: str, content: Any) -> TokenAnswer:
    return TokenAnswer(status, reason, content.read(_MOST_ANSWER).decode(errors="replace"))


def _hide(text: str, secrets: Iterable[str]) -> str:
    for each in secrets:
        text = text.replace(each, _HIDDEN) if each else text
    return text
