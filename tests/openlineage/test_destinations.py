"""The file has each event once, whatever happened; the endpoint gets what the standard says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from localcdap.openlineage.destinations import (
    DeliveryError,
    EventFile,
    RefusedError,
    WaitingEvent,
    count_common_bytes,
)
from localcdap.openlineage.http_endpoint import HttpEndpoint

EVENTS = [
    WaitingEvent(number, f'{{"event":{number},"é":"{"x" * number}"}}') for number in range(1, 6)
]
WHOLE = "".join(f"{each.event}\n" for each in EVENTS).encode()


class Receiver:
    """A server that answers with the given codes, then with 201, and keeps what it gets."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.bodies: list[str] = []
        self.paths: set[str] = set()
        self.keys: set[str | None] = set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                code = receiver.codes.pop(0) if receiver.codes else 201
                if code == 201:
                    receiver.bodies.append(body)
                receiver.paths.add(self.path)
                receiver.keys.add(self.headers["Authorization"])
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "3")
                self.end_headers()
                self.wfile.write(b"why")

            def do_GET(self) -> None:
                receiver.paths.add(self.path)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lineage" / "events.jsonl"


def test_events_are_lines_of_a_file(file: Path) -> None:
    destination = EventFile(file)
    destination.deliver(EVENTS[:2])
    destination.deliver(EVENTS[2:])
    assert file.read_bytes() == WHOLE


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_write_that_was_interrupted_at_any_byte_is_completed(file: Path, before: int) -> None:
    file.parent.mkdir()
    start = sum(len(each.event.encode()) + 1 for each in EVENTS[:before])
    for end in range(start, len(WHOLE) + 1):
        file.write_bytes(WHOLE[:end])
        EventFile(file).deliver(EVENTS[before:])
        assert file.read_bytes() == WHOLE
        # The next batch may begin earlier than the events that were written, and be longer.
        EventFile(file).deliver(EVENTS[before:])
        assert file.read_bytes() == WHOLE


def test_lines_of_others_stay(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"from another program, without an end")
    EventFile(file).deliver(EVENTS)
    assert file.read_bytes() == b"from another program, without an end\n" + WHOLE
    assert count_common_bytes(b"", WHOLE) == 0


def test_a_large_file_is_rotated_before_the_next_event(file: Path) -> None:
    destination = EventFile(file, most_bytes=1, keep=2)
    for event in EVENTS:
        destination.deliver([event])
        destination.deliver([event])  # as after a crash
    names = ["events.jsonl", "events.jsonl.1", "events.jsonl.2"]
    assert sorted(each.name for each in file.parent.iterdir()) == names
    texts = [(file.parent / name).read_text(encoding="utf-8") for name in names]
    assert texts == [f"{each.event}\n" for each in reversed(EVENTS[2:])]
    EventFile(file, most_bytes=1, keep=0).deliver(EVENTS[:1])
    assert file.read_text(encoding="utf-8") == f"{EVENTS[0].event}\n"


def test_a_file_that_cannot_be_written_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("", encoding="utf-8")
    with pytest.raises(DeliveryError, match="folder/events.jsonl cannot be written"):
        EventFile(tmp_path / "folder" / "events.jsonl").deliver(EVENTS)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def test_each_event_is_a_request(receiver: Receiver) -> None:
    HttpEndpoint(receiver.url, "api/v1/lineage", "secret").deliver(EVENTS)
    assert receiver.bodies == [each.event for each in EVENTS]
    assert receiver.paths == {"/api/v1/lineage"}
    assert receiver.keys == {"Bearer secret"}
    HttpEndpoint(f"{receiver.url}/base/", "events").deliver(EVENTS[:1])
    assert receiver.paths == {"/api/v1/lineage", "/base/events"}
    assert None in receiver.keys


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (500, DeliveryError),
        (503, DeliveryError),
        (401, DeliveryError),
        (404, DeliveryError),
        (302, DeliveryError),
        (400, RefusedError),
        (422, RefusedError),
    ],
)
def test_an_answer_that_is_no_success_is_an_error(
    receiver: Receiver, code: int, error: type[DeliveryError]
) -> None:
    receiver.codes.append(code)
    with pytest.raises(DeliveryError, match=f"answers {code} .*: why") as caught:
        HttpEndpoint(receiver.url, "x").deliver(EVENTS[:1])
    assert type(caught.value) is error
    assert receiver.paths == {"/x"}


def test_a_server_that_is_not_there_is_an_error() -> None:
    with Receiver() as gone:
        url = gone.url
    with pytest.raises(DeliveryError, match="cannot be reached: .*refused"):
        HttpEndpoint(url, "x").deliver(EVENTS[:1])
