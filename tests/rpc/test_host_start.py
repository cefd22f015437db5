"""Background hosts: started by the first that needs one, with their report."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.api.errors import HostError, HostLostError, SettingsError
from localcdap.processes.limits import read_user_umask
from localcdap.rpc.client import Client
from localcdap.rpc.host_lock import HostLock, connect_or_become_host
from localcdap.rpc.host_record import HostRecord, compute_fingerprint
from localcdap.rpc.host_start import LOG_FILE, HostReport, HostStart, is_hosted
from localcdap.rpc.server import Server

from .services import Echo


@pytest.fixture
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(str(Path(folder, "s.sock")), b"k" * 32, {"echo": Echo()})
        yield server
        server.close()


def connect(server: Server) -> Client:
    return Client(HostRecord(1, "1.0", server.address, (b"k" * 32).hex()))


@pytest.fixture
def interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Has a shell script take the place of Python for the host processes that are started."""

    def replace(script: str) -> None:
        file = tmp_path / "python"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(file))

    return replace


def test_a_host_that_ends_without_a_report_is_an_error_that_names_its_log(tmp_path, interpreter):
    interpreter("echo no memory left >&2; exit 3")

    with pytest.raises(HostError, match="ended while it started, with exit code 3") as raised:
        HostStart(tmp_path).wait()

    assert raised.value.corrective_action == f"See {tmp_path / LOG_FILE}."
    assert (tmp_path / LOG_FILE).read_text() == "no memory left\n"


def test_a_log_that_is_too_long_begins_again(tmp_path, interpreter):
    interpreter("echo again >&2; exit 3")
    log = tmp_path / LOG_FILE
    for size, expected in ((1024 * 1024, 1024 * 1024 + 6), (1024 * 1024 + 1, 6)):
        log.write_bytes(b"x" * size)
        with pytest.raises(HostError):
            HostStart(tmp_path).wait()
        assert log.stat().st_size == expected


def test_the_error_of_a_host_is_raised_where_it_was_started(tmp_path, interpreter):
    read, write = os.pipe()
    HostReport(write).fail(SettingsError("line 1", "repair it"))
    with os.fdopen(read, "rb") as pipe:
        (tmp_path / "report").write_bytes(pipe.read())
    # Its arguments end with --report DESCRIPTOR.
    interpreter(f"cat {tmp_path}/report > /dev/fd/$6")
    start = HostStart(tmp_path)

    with pytest.raises(SettingsError) as raised:
        start.wait()
    assert (raised.value.message, raised.value.corrective_action) == ("line 1", "repair it")


def test_a_report_that_nobody_reads_is_no_error():
    read, write = os.pipe()
    os.close(read)

    HostReport(write).succeed()
    HostReport(None).succeed()


def test_an_instance_is_hosted_while_the_lock_is_held(tmp_path):
    home = tmp_path / "home"
    assert not is_hosted(home)
    with connect_or_become_host(home, "1.0") as lock:
        assert isinstance(lock, HostLock)
        assert is_hosted(home)
    assert not is_hosted(home)


def test_a_server_refuses_new_connections_only_when_nobody_is_connected(server: Server):
    first, second = connect(server), connect(server)

    assert not server.refuse_if_unused()
    assert server.refuse_if_unused(without_pid=os.getpid())
    server.accept_again()
    second.close()
    assert not server.refuse_if_unused()
    first.close()  # the kernel knows at once, whatever the thread of the server has read
    assert server.refuse_if_unused()
    with pytest.raises(HostError):
        connect(server)
    server.accept_again()
    with connect(server) as third:
        assert third.make_proxy("echo", Echo).increment(1) == 1


def test_the_connection_of_the_call_itself_is_not_counted():
    class Service:
        def leave(self) -> bool:
            return counting.refuse_if_unused()

    with tempfile.TemporaryDirectory() as folder:
        counting = Server(str(Path(folder, "s.sock")), b"k" * 32, {"service": Service()})
        with connect(counting) as client, connect(counting) as other:
            assert not client.make_proxy("service", Service).leave()
            other.close()
            assert client.make_proxy("service", Service).leave()
        counting.close()


def test_a_lost_call_says_whether_it_was_sent(server: Server):
    echo = Echo()
    server._services["echo"] = echo
    with connect(server) as client:
        lost: list[HostLostError] = []

        def call() -> None:
            with pytest.raises(HostLostError) as raised:
                client.make_proxy("echo", Echo).wait()
            lost.append(raised.value)

        thread = threading.Thread(target=call)
        thread.start()
        assert echo.begun.wait(60)
        server.close(grace_s=0)
        thread.join()
        echo.let_go.set()
        with pytest.raises(HostLostError) as raised:
            client.make_proxy("echo", Echo).increment(1)

    assert lost[0].was_sent
    assert not raised.value.was_sent


def test_an_idle_connection_of_a_closed_server_is_lost_before_anything_is_sent(server: Server):
    with connect(server) as client:
        echo = client.make_proxy("echo", Echo)
        assert echo.increment(1) == 1
        server.close()

        with pytest.raises(HostLostError) as raised:
            echo.increment(1)
    assert not raised.value.was_sent


def test_a_fingerprint_shows_what_a_new_host_would_do_otherwise(tmp_path, monkeypatch):
    settings = tmp_path / "localcdap.toml"
    found = [compute_fingerprint(settings)]
    monkeypatch.setenv("SHLVL", "17")
    assert compute_fingerprint(settings) == found[0]
    settings.write_text("preview.records = 1")
    found.append(compute_fingerprint(settings))
    settings.write_text("preview.records = 2")
    found.append(compute_fingerprint(settings))
    monkeypatch.setenv("LOCALCDAP_PREVIEW_RECORDS", "3")
    found.append(compute_fingerprint(settings))
    monkeypatch.chdir(tmp_path)
    found.append(compute_fingerprint(settings))
    if sys.platform == "linux":
        umask = os.umask(0o027)
        try:
            assert read_user_umask() == 0o027
            found.append(compute_fingerprint(settings))
        finally:
            os.umask(umask)

    assert len(set(found)) == len(found)
    assert compute_fingerprint(settings) == found[4]
