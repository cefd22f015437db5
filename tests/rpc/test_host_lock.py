"""Hosts and clients of one instance, in real processes."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from localcdap.api.errors import (
    ConflictError,
    HostError,
    HostLostError,
    HostSilentError,
    StoreError,
)
from localcdap.rpc.client import Client
from localcdap.rpc.host_lock import HostLock, connect_or_become_host
from localcdap.rpc.host_record import HostRecord, get_socket_address, read_host_record

from .services import Echo

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(autouse=True)
def short_temporary_directory(monkeypatch) -> Iterator[None]:
    """A place for the sockets, also of the processes that are started, that is gone afterwards."""
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        monkeypatch.setenv("TMPDIR", short)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield
    monkeypatch.undo()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a process that opens the instance in ``tmp_path / "home"``."""
    started = []

    def start(start_s: float = 0) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.rpc.instance", str(tmp_path / "home"), str(start_s)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_the_first_is_host_and_the_second_its_client(start: Start):
    host = start()
    assert host.stdout.readline() == "host\n"

    assert start().stdout.readline() == f"client {host.pid}\n"


def test_a_host_that_is_still_starting_is_waited_for(start: Start, home: Path):
    host = start(start_s=0.7)
    while not (home / "host.lock").exists():
        time.sleep(0.01)

    assert start().stdout.readline() == f"client {host.pid}\n"


def test_a_killed_host_is_succeeded_at_once(start: Start, home: Path):
    host = start()
    assert host.stdout.readline() == "host\n"
    client = connect_or_become_host(home, "1.0")
    assert isinstance(client, Client)
    echo = client.make_proxy("echo", Echo)
    assert echo.pid() == host.pid
    kill(host)

    with pytest.raises(HostLostError, match=f"the host \\(process {host.pid}\\) broke"):
        echo.pid()
    assert (home / "host.json").exists()
    assert Path(client.host.address).exists()
    with connect_or_become_host(home, "2.0", wait_s=0) as seat:
        assert isinstance(seat, HostLock)
        assert read_host_record(home) is None
        seat.listen({"echo": Echo()})
        assert start().stdout.readline() == f"client {os.getpid()}\n"


def test_a_host_killed_in_a_call_is_reported_lost(start: Start, home: Path):
    host = start()
    host.stdout.readline()
    with connect_or_become_host(home, "1.0") as client:
        threading.Timer(0.05, kill, [host]).start()
        with pytest.raises(HostLostError):
            client.make_proxy("echo", Echo).sleep(60)


def test_of_many_that_start_at_once_one_is_host(start: Start):
    processes = [start(start_s=0.1) for _ in range(5)]
    answers = sorted(process.stdout.readline() for process in processes)

    (host,) = [p for p in processes if f"client {p.pid}\n" in answers]
    assert answers == [f"client {host.pid}\n"] * 4 + ["host\n"]


def test_a_frozen_host_is_named(start: Start, home: Path):
    host = start()
    host.stdout.readline()
    host.send_signal(signal.SIGSTOP)

    with pytest.raises(
        HostSilentError, match=f"Process {host.pid} is the host .* suspended"
    ) as caught:
        connect_or_become_host(home, "1.0", wait_s=0.3)
    assert f"'kill -CONT {host.pid}'" in caught.value.corrective_action


def test_a_host_that_never_listens_is_named(home: Path):
    with (
        connect_or_become_host(home, "1.0"),
        pytest.raises(HostSilentError, match=f"Process {os.getpid()} .* not listen") as caught,
    ):
        connect_or_become_host(home, "1.0", wait_s=0.1)
    assert caught.value.corrective_action.endswith(f"'kill {os.getpid()}'.")


def test_what_the_host_leaves_is_private_and_goes_with_it(home: Path):
    seat = connect_or_become_host(home, "3.1")
    assert isinstance(seat, HostLock)
    record = seat.listen({})

    assert read_host_record(home) == record
    assert (record.pid, record.version) == (os.getpid(), "3.1")
    assert len(bytes.fromhex(record.authkey)) == 32
    assert stat.S_IMODE((home / "host.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(record.address).parent.stat().st_mode) == 0o700
    with pytest.raises(ConflictError):
        seat.listen({})

    seat.close()
    seat.close()
    assert read_host_record(home) is None
    assert not Path(record.address).exists()
    with connect_or_become_host(home, "3.1", wait_s=0) as again:
        assert isinstance(again, HostLock)


def test_clients_of_a_closed_host_get_an_error_and_one_succeeds_it(home: Path):
    seat = connect_or_become_host(home, "1.0")
    seat.listen({"echo": Echo()})
    client = connect_or_become_host(home, "1.0")
    echo = client.make_proxy("echo", Echo)
    assert echo.increment(1) == 1
    assert seat.connections == 1
    seat.close()

    with pytest.raises(HostLostError):
        echo.increment(1)
    with connect_or_become_host(home, "1.0", wait_s=0) as successor:
        assert isinstance(successor, HostLock)


def test_calls_under_way_get_their_answer_when_the_host_closes(home: Path):
    seat = connect_or_become_host(home, "1.0")
    echo = Echo()
    seat.listen({"echo": echo})
    answers = []
    with connect_or_become_host(home, "1.0") as client:
        thread = threading.Thread(
            target=lambda: answers.append(client.make_proxy("echo", Echo).wait())
        )
        thread.start()
        assert echo.begun.wait(60)
        threading.Timer(0.1, echo.let_go.set).start()
        seat.stop_listening(grace_s=60)
        assert echo.let_go.is_set()
        seat.close()
        thread.join()

    assert answers == ["let go"]


def test_the_host_closes_in_spite_of_a_call_that_takes_for_ever(home: Path):
    seat = connect_or_become_host(home, "1.0")
    echo = Echo()
    seat.listen({"echo": echo})
    failures = []

    def call() -> None:
        with pytest.raises(HostLostError) as caught:
            client.make_proxy("echo", Echo).wait()
        failures.append(caught.value)

    with connect_or_become_host(home, "1.0") as client:
        thread = threading.Thread(target=call)
        thread.start()
        assert echo.begun.wait(60)
        seat.stop_listening(grace_s=0.05)
        thread.join()
        echo.let_go.set()
        seat.close()
    assert len(failures) == 1


def test_a_service_may_close_its_own_host(home: Path):
    class Service:
        def stop(self) -> str:
            seat.stop_listening()
            return "stopped"

    seat = connect_or_become_host(home, "1.0")
    seat.listen({"service": Service()})
    with connect_or_become_host(home, "1.0") as client:
        assert client.make_proxy("service", Service).stop() == "stopped"
    seat.close()


def test_a_home_with_a_very_long_path_works(tmp_path: Path):
    home = tmp_path / ("x" * 120) / ("y" * 120)
    with connect_or_become_host(home, "1.0") as seat:
        seat.listen({"echo": Echo()})
        with connect_or_become_host(home, "1.0") as client:
            assert client.make_proxy("echo", Echo).increment(2) == 2


def test_a_very_long_temporary_directory_is_avoided(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / ("t" * 100)))

    assert len(get_socket_address(tmp_path)) <= 100


def test_a_socket_folder_of_somebody_else_is_refused(tmp_path: Path):
    Path(tempfile.gettempdir(), f"localcdap-{os.getuid()}").symlink_to(tmp_path)

    with pytest.raises(HostError, match="belongs to another user"):
        get_socket_address(tmp_path)


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match=r"folder .*file/home cannot be used"):
        connect_or_become_host(tmp_path / "file" / "home", "1.0")


@pytest.mark.parametrize("text", ["", "{", '{"pid": "x"}', json.dumps({"pid": 1})])
def test_a_damaged_record_is_as_good_as_none(tmp_path: Path, text: str):
    (tmp_path / "host.json").write_text(text)

    assert read_host_record(tmp_path) is None


def test_a_record_with_a_wrong_key_is_refused(home: Path):
    with connect_or_become_host(home, "1.0") as seat:
        record = seat.listen({"echo": Echo()})
        for key in ("00" * 32, ""):
            with pytest.raises(HostError, match="key is wrong"):
                Client(msgspec.structs.replace(record, authkey=key))
        with Client(record) as client:
            assert client.make_proxy("echo", Echo).increment(1) == 1


def test_a_record_without_a_host_is_not_reachable(tmp_path: Path):
    nowhere = HostRecord(1, "1.0", str(tmp_path / "no.sock"), "00")

    with pytest.raises(HostError, match=r"process 1\) cannot be reached at .*No such file"):
        Client(nowhere)
