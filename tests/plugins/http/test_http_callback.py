"""The HTTPCallback post action, with a web service on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from http_plugins.http import HttpCallback

from localcdap.api.errors import StageError
from localcdap.testing import StageTester
from tests.plugins.transform.support import configure, messages


class Service(BaseHTTPRequestHandler):
    """Records its requests; breaks off the first call of ``/shaky``, and knows no ``/none``."""

    received: list[tuple[str, str, str, str | None]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        type(self).received.append((self.command, self.path, body, self.headers.get("X-Key")))
        if self.path == "/shaky" and len(self.received) < 2:
            self.close_connection = True
            return
        self.send_response(404 if self.path == "/none" else 204)
        self.end_headers()

    do_PUT = do_POST  # noqa: N815 - named by the library

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[str]:
    Service.received = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def call(url: str, *, succeeded: bool = True, **more: str) -> None:
    StageTester(HttpCallback, {"url": url, "method": "POST"} | more).act(succeeded=succeeded)


def test_the_service_hears_of_the_run_when_the_condition_holds(service: str):
    call(f"{service}/failed", runCondition="failure")
    assert Service.received == []
    call(f"{service}/failed", succeeded=False, runCondition="failure", body="größe")
    call(f"{service}/all", method="put", requestHeaders="X-Key: a:b", connectTimeout="0")
    assert Service.received == [("POST", "/failed", "größe", None), ("PUT", "/all", "", "a:b")]


def test_an_answer_that_says_no_is_an_answer(service: str):
    call(f"{service}/none", numRetries="3")
    assert len(Service.received) == 1


def test_it_is_tried_again_when_there_is_no_answer(service: str):
    with pytest.raises(StageError, match="did not respond"):
        call(f"{service}/shaky")
    Service.received = []
    call(f"{service}/shaky", numRetries="1")
    assert len(Service.received) == 2


def test_what_is_wrong_is_said():
    properties = {"url": "ftp://x", "method": "TELL", "requestHeaders": "x", "connectTimeout": "-1"}
    reported = messages(configure(HttpCallback, properties))
    assert reported[1:] == [
        "'ftp://x' is not the URL of a web service.",
        "Property 'connectTimeout' must be at least 0, not -1.",
        "'x' is not a header.",
    ]
    assert "TELL" in reported[0]
