"""The host's socket under load and under attack."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.api.errors import HostError, NotFoundError
from localcdap.rpc.client import Client
from localcdap.rpc.frames import FRAME_LIMIT
from localcdap.rpc.host_record import HostRecord
from localcdap.rpc.server import Server

from .services import Echo
from .test_peer import WIDE

KEY = b"k" * 32


@pytest.fixture(scope="module")
def record() -> Iterator[HostRecord]:
    """How to reach a server of this process."""
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder, "s.sock"))
        server = Server(address, KEY, {"echo": Echo()})
        yield HostRecord(1, "1.0", address, KEY.hex())
        server.close()
        assert not Path(address).exists()


@pytest.fixture
def client(record: HostRecord) -> Iterator[Client]:
    with Client(record) as client:
        yield client


def test_twenty_clients_of_many_calls_all_get_their_own_answers(record: HostRecord):
    def hammer(number: int) -> list[bytes]:
        with Client(record) as client:
            echo = client.make_proxy("echo", Echo)
            assert echo.schema(WIDE) == WIDE
            return [echo.blob(b"%d-%d" % (number, i)) for i in range(100)]

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(hammer, range(20)))

    assert answers == [[b"%d-%d" % (n, i) for i in range(100)] for n in range(20)]


def test_clients_in_other_processes_are_served_at_once(record: HostRecord):
    code = (
        "import sys\n"
        "from localcdap.rpc.client import Client\n"
        "from localcdap.rpc.host_record import HostRecord\n"
        "from tests.rpc.services import Echo\n"
        "echo = Client(HostRecord(1, '1', sys.argv[1], sys.argv[2])).make_proxy('echo', Echo)\n"
        "print(sum(len(echo.blob(bytes(i))) for i in range(200)))\n"
    )
    command = [sys.executable, "-c", code, record.address, record.authkey]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]

    assert [p.communicate()[0].strip() for p in processes] == [str(sum(range(200)))] * 4


def test_calls_of_one_client_run_side_by_side(client: Client):
    echo = client.make_proxy("echo", Echo)
    with ThreadPoolExecutor(10) as pool:
        answers = [pool.submit(echo.meet) for _ in range(10)]
        assert [answer.result() for answer in answers] == ["met"] * 10


def test_an_error_leaves_the_client_of_use(client: Client):
    with pytest.raises(NotFoundError, match="no service 'studio'; available: echo"):
        client.make_proxy("studio", Echo).pid()
    with pytest.raises(HostError, match="ZeroDivisionError"):
        client.make_proxy("echo", Echo).fail("other")
    assert client.make_proxy("echo", Echo).nothing() is None


def test_a_closed_client_says_so(record: HostRecord):
    client = Client(record)
    client.close()

    with pytest.raises(HostError, match="client is closed"):
        client.make_proxy("echo", Echo).pid()


def test_a_silent_visitor_keeps_nobody_waiting(record: HostRecord):
    with socket.socket(socket.AF_UNIX) as visitor:
        visitor.connect(record.address)
        with Client(record) as client:
            assert client.make_proxy("echo", Echo).nothing() is None


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=400), framed=st.booleans())
def test_garbage_before_the_greeting_is_survived(record: HostRecord, data: bytes, framed: bool):
    with socket.socket(socket.AF_UNIX) as visitor:
        visitor.connect(record.address)
        visitor.sendall(struct.pack("!i", len(data)) + data if framed else data)

    assert_alive(record)


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=400), framed=st.booleans())
def test_garbage_behind_the_greeting_is_survived(record: HostRecord, data: bytes, framed: bool):
    with socket.socket(fileno=greeted(record)) as visitor:
        visitor.sendall(struct.pack("!i", len(data)) + data if framed else data)

    assert_alive(record)


@pytest.mark.parametrize(
    "header",
    [
        struct.pack("!i", FRAME_LIMIT + 1),
        struct.pack("!i", -1) + struct.pack("!Q", 2**63),
        struct.pack("!i", -7),
    ],
)
def test_a_frame_of_impossible_length_ends_its_connection(record: HostRecord, header: bytes):
    with socket.socket(fileno=greeted(record)) as visitor:
        visitor.sendall(header)
        visitor.settimeout(60)
        assert visitor.recv(1) == b""

    assert_alive(record)


def test_connections_are_counted_and_forgotten():
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder, "s.sock"))
        server = Server(address, KEY, {"echo": Echo()})
        with Client(HostRecord(1, "1.0", address, KEY.hex())) as client:
            assert client.make_proxy("echo", Echo).nothing() is None
            assert server.connections == 1
            assert server.is_used()
        assert not server.is_used(), "it has hung up, whether its thread has read that or not"
        deadline = time.monotonic() + 60
        while server.connections and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.connections == 0
        server.close()
        server.close()
        server._thread.join(60)
        assert not server._thread.is_alive()


def greeted(record: HostRecord) -> int:
    """A file descriptor of a connection that the server trusts."""
    client = Client(record)
    number = os.dup(client._idle[0]._connection.fileno())
    client.close()
    return number


def assert_alive(record: HostRecord) -> None:
    with Client(record) as client:
        assert client.make_proxy("echo", Echo).nothing() is None
