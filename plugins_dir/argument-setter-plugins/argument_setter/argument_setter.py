"""The ArgumentSetter action."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from email.message import Message
from http.client import HTTPException
from typing import IO, Final

from localcdap.api import Action, ActionContext, PluginConfig, StageConfigurer, field, plugin
from localcdap.files.arguments import set_arguments

_METHODS: Final = ("GET", "POST", "PUT", "DELETE", "HEAD")
_MOST_BYTES: Final = 10 * 2**20
_PAUSE_S: Final = 1.0


@plugin(
    type="action",
    name="ArgumentSetter",
    description="Sets arguments of the run from a JSON document that a web service answers with.",
)
class ArgumentSetter(Action):
    class Config(PluginConfig):
        url: str = field(
            'Address of the document, of the form {"arguments": [{"name": "in", "type": "string", "value": '
            '"x"}]}. Types are string, int, short, float, double, char, array, map and schema.',
            macro=True,
        )
        method: str = field("Method of the request.", default="GET", choices=_METHODS, macro=True)
        body: str | None = field("Body of the request.", default=None, macro=True)
        headers: str | None = field(
            "Headers of the request, each on a line: name: value",
            default=None,
            macro=True,
            name="requestHeaders",
        )
        retries: int = field(
            "How often the request is repeated when it fails.",
            default=0,
            macro=True,
            name="numRetries",
        )
        timeout_ms: int = field(
            "Milliseconds to wait for an answer.",
            default=60_000,
            macro=True,
            name="connectTimeoutMillis",
        )
        follow: bool = field(
            "Whether the address may send on to another.",
            default=True,
            macro=True,
            name="followRedirects",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        if config.url and not config.contains_macro("url") and not _is_http(config.url):
            stage.failures.add(
                f"'{config.url}' is no address of a web service.",
                "It begins with 'http://' or 'https://'.",
            ).with_config_property("url")
        for name, value, least in (
            ("numRetries", config.retries, 0),
            ("connectTimeoutMillis", config.timeout_ms, 1),
        ):
            if value < least:
                stage.failures.add(
                    f"Property '{name}' must be at least {least}, not {value}."
                ).with_config_property(name)
        if not config.contains_macro("requestHeaders"):
            for line in _lines(config.headers):
                if not line.partition(":")[1]:
                    stage.failures.add(
                        f"'{line}' is no header.", "Write 'name: value'."
                    ).with_config_property("requestHeaders")

    def run(self, context: ActionContext) -> None:
        for attempt in range(self.config.retries + 1):
            try:
                text = self._answer()
                break
            except (OSError, HTTPException, ValueError) as error:
                problem = f"'{self.config.url}' gives no answer that can be used: {error}."
                context.logger.warning("%s", problem)
                if attempt == self.config.retries:
                    raise context.fail(problem, "Check the address and its service.") from None
                time.sleep(_PAUSE_S)
        set_arguments(context, text, self.config.url)

    def _answer(self) -> str:
        """:raises OSError: (or HTTPException, ValueError) when there is none, or it says that it failed."""
        config = self.config
        if not _is_http(config.url):
            raise ValueError("it begins neither with http:// nor with https://")
        headers = {}
        for line in _lines(config.headers):
            name, _, value = line.partition(":")
            headers[name.strip()] = value.strip()
        body = config.body.encode() if config.body else None
        request = urllib.request.Request(  # noqa: S310 - its scheme is checked above
            config.url.strip(), body, headers, method=config.method
        )
        handlers = [] if config.follow else [_NoRedirects()]
        opener = urllib.request.build_opener(*handlers)
        with opener.open(request, timeout=config.timeout_ms / 1000) as answer:
            content: bytes = answer.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise ValueError("the answer is larger than 10 MB")
        return content.decode()


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
        """None makes the redirection an error."""


def _is_http(url: str) -> bool:
    return url.strip().lower().startswith(("http://", "https://"))


def _lines(headers: str | None) -> list[str]:
    return [line.strip() for line in (headers or "").splitlines() if line.strip()]
