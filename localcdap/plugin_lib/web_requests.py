"""HTTP requests to web services, with the properties of CDAP's plugins."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Sequence
from email.message import Message
from typing import IO, Final, NamedTuple

from localcdap.api import PluginConfig, StageConfigurer, field

METHODS: Final = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS")
TIMEOUT_MS: Final = 60_000


class WebAnswer(NamedTuple):
    """The response of a web service."""

    status: int
    reason: str
    content: bytes


class WebServiceConfig(PluginConfig, macros=True):
    """The properties of a plugin that calls a web service."""

    url: str = field("URL of the web service.")
    headers: str | None = field(
        "Headers of the request, each on a line: name: value", default=None, name="requestHeaders"
    )
    retries: int = field(
        "How many times a failed request is repeated.", default=0, name="numRetries"
    )
    timeout_ms: int = field(
        "Milliseconds to wait for a response.", default=TIMEOUT_MS, name="connectTimeoutMillis"
    )
    follow: bool = field("Whether redirects are followed.", default=True, name="followRedirects")

    def get_timeout_ms(self) -> int:
        """Return the milliseconds to wait for the connection and for each part of the response."""
        return self.timeout_ms

    def check(self, stage: StageConfigurer, timeout: str, least_ms: int) -> None:
        """Add a failure for each invalid property.

        :param timeout: the name of the timeout property.
        :param least_ms: the smallest timeout that is allowed, in milliseconds.
        """
        if self.url and not self.contains_macro("url") and not _is_http(self.url):
            stage.failures.add(
                f"'{self.url}' is not the URL of a web service.",
                "Begin it with 'http://' or 'https://'.",
            ).with_config_property("url")
        for name, value, least in (
            ("numRetries", self.retries, 0),
            (timeout, self.timeout_ms, least_ms),
        ):
            if value < least:
                stage.failures.add(
                    f"Property '{name}' must be at least {least}, not {value}."
                ).with_config_property(name)
        if not self.contains_macro("requestHeaders"):
            for line in _split_headers(self.headers):
                if not line.partition(":")[1]:
                    stage.failures.add(
                        f"'{line}' is not a header.", "Write 'name: value'."
                    ).with_config_property("requestHeaders")

    def post_json(self, body: bytes) -> WebAnswer:
        """Send JSON once by POST, and return the response without its content.

        :raises OSError: (or HTTPException, ValueError) as :meth:`WebRequestConfig.send`.
        """
        headers = {"Content-Type": "application/json"} | self._read_headers()
        return self._open("POST", body, headers, 0)

    def _open(
        self, method: str, body: bytes | None, headers: dict[str, str], max_bytes: int
    ) -> WebAnswer:
        if not _is_http(self.url):
            raise ValueError("it begins neither with http:// nor with https://")
        request = urllib.request.Request(  # noqa: S310 - its scheme is checked above
            self.url.strip(), body, headers, method=method
        )
        handlers: Sequence[urllib.request.BaseHandler] = () if self.follow else (_NoRedirects(),)
        opener = urllib.request.build_opener(*handlers)
        with opener.open(request, timeout=self.get_timeout_ms() / 1000 or None) as answer:
            return WebAnswer(answer.status, answer.reason, answer.read(max_bytes))

    def _read_headers(self) -> dict[str, str]:
        pairs = (line.partition(":") for line in _split_headers(self.headers))
        return {name.strip(): value.strip() for name, _, value in pairs}


class WebRequestConfig(WebServiceConfig, macros=True):
    """The properties of a plugin that sends a request with a method and a body of the user."""

    method: str = field("HTTP method of the request.", choices=METHODS)
    body: str | None = field("Body of the request.", default=None)
    form_timeout: str | None = field(
        "Without effect, as in CDAP, whose form writes it: 'connectTimeout' has one.",
        default=None,
        name="connectTimeoutMillis",
        group="more",
    )

    def send(self, max_bytes: int) -> WebAnswer:
        """Send the request once.

        :param max_bytes: how many bytes of the content are read at most.
        :raises OSError: (or HTTPException, ValueError) when there is no response; an ``HTTPError`` for a
            status that is an error.
        """
        body = self.body.encode() if self.body else None
        return self._open(self.method, body, self._read_headers(), max_bytes)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> None:
        """Return None, which makes a redirect an error."""


def _is_http(url: str) -> bool:
    return url.strip().lower().startswith(("http://", "https://"))


def _split_headers(headers: str | None) -> list[str]:
    return [line.strip() for line in (headers or "").splitlines() if line.strip()]
