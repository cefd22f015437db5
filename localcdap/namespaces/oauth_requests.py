"""Requests for tokens to OAuth providers. The module loads what only it needs, such as TLS."""

from __future__ import annotations

import base64
import http.client
import urllib.error
import urllib.request
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlencode

from localcdap.api.errors import OAuthError
from localcdap.http_redirects import RefuseRedirects
from localcdap.namespaces.oauth import BASIC_AUTH, OAuthClient, OAuthProvider, TokenAnswer

_TIMEOUT_S: Final = 30
_MOST_ANSWER: Final = 1 << 20
_HIDDEN: Final = "********"


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
