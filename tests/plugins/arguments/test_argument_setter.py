"""The ArgumentSetter action, with a web service on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from argument_setter.argument_setter import ArgumentSetter

from localcdap.api.errors import StageError
from localcdap.testing import StageTester
from tests.plugins.transform.support import configure, messages

ANSWER = {
    "arguments": [
        {"name": "input.path", "type": "string", "value": "/data"},
        {"name": "directives", "type": "array", "value": ["drop a", "keep b"]},
    ]
}


class Service(BaseHTTPRequestHandler):
    """Answers ``/ok``, sends ``/moved`` there, fails ``/shaky`` once, ``/echo`` returns the request."""

    calls: list[str]

    def do_GET(self) -> None:
        type(self).calls.append(self.path)
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/ok")
            self.end_headers()
            return
        failing = self.path == "/none" or (self.path == "/shaky" and self.calls.count("/shaky") < 2)
        document: Any = ANSWER
        if self.path == "/echo":
            size = int(self.headers.get("Content-Length") or 0)
            sent = {"body": self.rfile.read(size).decode(), "key": self.headers.get("X-Key")}
            arguments = [{"name": name, "value": value} for name, value in sent.items()]
            document = {"arguments": [*arguments, {"name": "method", "value": self.command}]}
        self.send_response(500 if failing else 200)
        self.end_headers()
        self.wfile.write(b"[]" if self.path == "/list" else json.dumps(document).encode())

    do_POST = do_GET  # noqa: N815 - named by the library

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[str]:
    Service.calls = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def arguments(url: str, **more: str) -> dict[str, str]:
    return dict(StageTester(ArgumentSetter, {"url": url} | more).act().arguments)


def test_what_is_answered_becomes_arguments(service: str):
    wanted = {"input.path": "/data", "directives": "drop a\nkeep b"}
    assert arguments(f"{service}/ok") == wanted
    assert arguments(f"{service}/moved") == wanted
    assert arguments(f"{service}/shaky", numRetries="1") == wanted


def test_method_body_and_headers_are_sent(service: str):
    found = arguments(
        f"{service}/echo", method="post", body="größe", requestHeaders="X-Key: a:b\nAccept: */*"
    )
    assert found == {"body": "größe", "key": "a:b", "method": "POST"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/none", "HTTP Error 500"),
        ("/list", "has no list of arguments"),
        ("/moved", "HTTP Error 302"),
    ],
)
def test_answers_that_are_none_fail_the_run(service: str, path: str, expected: str):
    with pytest.raises(StageError, match=expected):
        arguments(f"{service}{path}", followRedirects="false")


def test_what_is_wrong_is_said():
    properties = {"url": "file:///etc/passwd", "requestHeaders": "x", "numRetries": "-1"}
    assert messages(configure(ArgumentSetter, properties)) == [
        "'file:///etc/passwd' is not the URL of a web service.",
        "Property 'numRetries' must be at least 0, not -1.",
        "'x' is not a header.",
    ]


def test_the_longer_timeout_counts():
    config = configure(
        ArgumentSetter, {"url": "http://x", "connectTimeout": "5", "readTimeout": "7"}
    )
    assert messages(config) == []
    assert messages(configure(ArgumentSetter, {"url": "http://x", "connectTimeout": "0"})) == [
        "Property 'connectTimeout' must be at least 1, not 0."
    ]
    built = ArgumentSetter.Config.build(
        {"url": "http://x", "connectTimeout": "5", "readTimeout": "7"}, config.failures
    )
    assert built.get_timeout_ms() == 7
