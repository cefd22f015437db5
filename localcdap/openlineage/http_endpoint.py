"""The HTTP endpoint to which events are sent. The module loads what only it needs, such as TLS."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Final
from urllib.parse import urljoin

from localcdap.http_redirects import RefuseRedirects
from localcdap.openlineage.destinations import DeliveryError, RefusedError, WaitingEvent

_REFUSALS: Final = (400, 413, 422)
"""The answers of HTTP by which a receiver says that an event will never be accepted."""
_MOST_ANSWER: Final = 300


class HttpEndpoint:
    """An HTTP endpoint that takes one event a request, such as that of Marquez.

    :param url: of the server.
    :param endpoint: the path of the endpoint, relative to the URL.
    :param api_key: sent as a bearer token; empty: none.
    """

    name = "http"
    batch = 1

    def __init__(self, url: str, endpoint: str, api_key: str = "", timeout_s: float = 5.0) -> None:
        self.target = urljoin(url if url.endswith("/") else f"{url}/", endpoint)
        self._headers = {"Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._timeout_s = timeout_s
        self._opener = urllib.request.build_opener(RefuseRedirects)

    def deliver(self, events: Sequence[WaitingEvent]) -> None:
        """Send each event, in a request of its own."""
        for each in events:
            self._send(each.event.encode(errors="replace"))

    def _send(self, data: bytes) -> None:
        request = urllib.request.Request(self.target, data, self._headers, method="POST")  # noqa: S310
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                answer.read(_MOST_ANSWER)
        except urllib.error.HTTPError as error:
            raise _create_error(self.target, error) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise DeliveryError(
                f"{self.target} cannot be reached: {reason or type(error).__name__}.",
                "Start the server, or correct openlineage.url.",
            ) from None


def _create_error(target: str, error: urllib.error.HTTPError) -> DeliveryError:
    try:
        text = error.read(_MOST_ANSWER).decode(errors="replace").strip()
    except (OSError, http.client.HTTPException):
        text = ""
    message = f"{target} answers {error.code} {error.reason}{': ' if text else ''}{text}"
    if error.code in _REFUSALS:
        return RefusedError(message)
    return DeliveryError(message, "Correct openlineage.url, openlineage.endpoint or the API key.")
