"""Requests of a client with their answers: a proxy that records them, and the files that keep them."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec

RUN, SOURCE = "{run}", "{source}"
_RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEADERS = ("Content-Type", "Authorization")


class Exchange(msgspec.Struct):
    """A request and what clients read of its answer, without what differs from time to time."""

    method: str
    path: str
    """With the query, as it was sent."""
    headers: dict[str, str]
    body: Any
    """Decoded JSON; None for an empty body."""
    status: int
    answer: Any


def read_answer(path: str, text: str) -> Any:
    """Return what Airflow reads of an answer: the status of a run, what started, the names in a list."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if "/runs/" in path and isinstance(value, dict):
        return {"status": value["status"]}
    if path.endswith("/start"):
        return value
    is_list = path.endswith("/apps") or "/apps/artifact" in path
    return [each["name"] for each in value] if is_list else None


def normalize(exchanges: Iterable[Exchange], source: str) -> list[Exchange]:
    """Return exchanges with names in place of ids and files; of requests that wait, the last one."""
    found: list[Exchange] = []
    for each in exchanges:
        text = msgspec.json.encode(each).decode().replace(source, SOURCE)
        one = msgspec.json.decode(_RUN_ID.sub(RUN, text), type=Exchange)
        if found and is_same_request(found[-1], one):
            found.pop()
        found.append(one)
    return found


def is_same_request(first: Exchange, second: Exchange) -> bool:
    return all(
        getattr(first, name) == getattr(second, name)
        for name in ("method", "path", "headers", "body")
    )


def read_recording(file: Path) -> list[Exchange]:
    return msgspec.json.decode(file.read_bytes(), type=list[Exchange])


def write_recording(file: Path, exchanges: list[Exchange]) -> None:
    file.write_bytes(msgspec.json.format(msgspec.json.encode(exchanges), indent=2) + b"\n")


@contextmanager
def record(address: str) -> Iterator[tuple[str, list[Exchange]]]:
    """Yield the address of a proxy in front of a server, and the exchanges that it sees.

    :param address: host and port of the server.
    """
    exchanges: list[Exchange] = []

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(size)
            given = {key.title(): value for key, value in self.headers.items()}
            headers = {key: given[key] for key in _HEADERS if key in given}
            connection = http.client.HTTPConnection(address, timeout=120)
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            exchanges.append(
                Exchange(
                    self.command,
                    self.path,
                    headers,
                    json.loads(body) if body else None,
                    answer.status,
                    read_answer(self.path, content.decode()),
                )
            )
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = forward

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", exchanges
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
