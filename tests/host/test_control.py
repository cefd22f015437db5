"""When a host may end, and what its clients notice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from localcdap.api.errors import ConflictError, HostLostError, NotFoundError
from localcdap.home import Home
from localcdap.host import Cdap, open_in_process
from localcdap.host.maintenance import repair
from localcdap.rpc.client import Client
from localcdap.rpc.frames import Call
from localcdap.rpc.host_record import read_host_record, write_host_record
from localcdap.rpc.methods import get_remote_method
from localcdap.runs.service import RunService


@pytest.fixture
def home(tmp_path: Path, fresh_home: Callable[[Path], Path]) -> Iterator[Home]:
    """An instance; its host is ended after the test."""
    home = Home(fresh_home(tmp_path / "home"))
    yield home
    record = read_host_record(home.path)
    if record is not None and record.pid != os.getpid():
        os.kill(record.pid, signal.SIGKILL)


def kill_host(cdap: Cdap) -> int:
    pid = cdap.host_pid
    os.kill(pid, signal.SIGKILL)
    return pid


def test_a_host_stays_for_others_and_ends_for_the_last(home: Home):
    with closing(Cdap(home)) as first:
        with closing(Cdap(home)) as second:
            assert first.host_pid == second.host_pid != os.getpid()
            with pytest.raises(ConflictError, match="other processes that are connected"):
                repair(home)
        before = first.host_pid
        assert first.leave_host() == []  # its own connections do not count
        # A later call finds the host gone and starts another one.
        while first.host_pid == before:
            assert [n.name for n in first.namespaces.list_namespaces()] == ["default"]


def test_a_host_whose_folder_was_made_again_ends_and_leaves_the_new_one_alone(
    home: Home, tmp_path: Path, fresh_home: Callable[[Path], Path]
):
    with closing(Cdap(home)) as old:
        old.namespaces.create("old")
        old_host = psutil.Process(old.host_pid)
        home.path.rename(tmp_path / "moved")
        fresh_home(home.path)
        with closing(Cdap(home)) as new:
            assert new.host_pid != old_host.pid
            for number in range(20):
                new.namespaces.create(f"n{number}")
            old_host.wait()
            assert read_host_record(home.path).pid == new.host_pid
            names = {each.name for each in new.namespaces.list_namespaces()}
            assert names == {"default", *(f"n{number}" for number in range(20))}
            kill_host(new)
            assert {each.name for each in new.namespaces.list_namespaces()} == names
        moved = Home(tmp_path / "moved")
        with open_in_process(moved) as found:
            assert {each.name for each in found.namespaces.list_namespaces()} == {"default", "old"}


@pytest.mark.slow
def test_the_host_of_another_process_that_is_connected_stays(home: Home):
    with closing(Cdap(home)) as cdap:
        program = (
            "import sys; from localcdap.api.client import connect\n"
            "with connect(sys.argv[1]) as cdap: print(cdap.host_pid, flush=True); sys.stdin.read()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", program, str(home.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        ) as other:
            assert other.stdout is not None
            assert other.stdin is not None
            assert int(other.stdout.readline()) == cdap.host_pid
            assert cdap.leave_host() == ["other processes that are connected"]
            other.stdin.close()
        assert cdap.leave_host() == []


def test_the_host_in_a_program_stays(home: Home):
    with open_in_process(home) as host, closing(Cdap(home)) as client:
        assert client.host_pid == host.host_pid == os.getpid()
        assert client.leave_host() == ["the program that opened the instance"]
        assert host.leave_host() == []  # it is closed by its program


def test_no_host_takes_over_from_a_program_whose_last_client_has_just_gone(home: Home):
    for _ in range(5):
        with open_in_process(home), closing(Cdap(home)) as client:
            client.namespaces.list_namespaces()

    assert not (home.path / "host.log").exists(), "no background host was started"


def test_a_repair_ends_a_host_that_nobody_uses(home: Home):
    with closing(Cdap(home)) as cdap:
        pid = cdap.host_pid

    assert repair(home) == []
    record = read_host_record(home.path)
    assert record is None or record.pid != pid


@pytest.mark.slow
def test_a_host_with_other_settings_is_replaced_only_when_nobody_uses_it(home: Home):
    with closing(Cdap(home)) as first:
        home.settings_file.write_text("preview.records = 3\n")
        with closing(Cdap(home)) as second:
            assert second.host_pid == first.host_pid
        before = first.host_pid
    with closing(Cdap(home)) as third:
        assert third.host_pid != before


def test_a_host_of_another_version_is_named_while_it_is_used(home: Home):
    with closing(Cdap(home)) as cdap:
        record = read_host_record(home.path)
        assert record is not None
        write_host_record(
            home.path, type(record)(record.pid, "0.0.1", record.address, record.authkey)
        )
        with pytest.raises(
            ConflictError, match=r"open with localcdap 0\.0\.1; .* because of other"
        ):
            Cdap(home)
        assert cdap.host_pid == record.pid


@pytest.mark.slow
def test_calls_are_repeated_at_the_next_host_unless_they_may_have_taken_effect(
    home: Home, monkeypatch: pytest.MonkeyPatch
):
    assert get_remote_method(RunService, "start").is_non_idempotent
    with closing(Cdap(home)) as cdap:
        pid = kill_host(cdap)
        # It was not sent: the connection of the killed host is closed.
        with pytest.raises(NotFoundError):
            cdap.runs.get("default", "none")
        assert cdap.host_pid != pid

        pid = cdap.host_pid
        sent: list[str] = []
        real_call = Client.call

        def lose_answer(self: Client, call: Call, *rest: object) -> object:
            sent.append(call.method)
            if self.host.pid == pid:
                raise HostLostError("broken", was_sent=True)
            return real_call(self, call, *rest)

        monkeypatch.setattr(Client, "call", lose_answer)
        kill_host(cdap)
        with pytest.raises(
            HostLostError, match=rf"process {pid}\) ended in the call of runs.start"
        ):
            cdap.runs.start(None)
        assert sent.count("start") == 1


def test_a_call_that_ends_every_host_is_not_repeated_for_ever(
    home: Home, monkeypatch: pytest.MonkeyPatch
):
    with open_in_process(home), closing(Cdap(home)) as cdap:
        made: list[Call] = []

        def lose(_: Client, call: Call, *__: object) -> object:
            if call.method != "look_again":
                made.append(call)
                raise HostLostError("broken")
            return None

        monkeypatch.setattr(Client, "call", lose)
        with pytest.raises(HostLostError):
            cdap.namespaces.list_namespaces()
        assert len(made) == 3


@pytest.mark.slow
def test_what_a_lost_host_kept_in_memory_is_reported(home: Home):
    with closing(Cdap(home)) as cdap:
        with pytest.raises(NotFoundError), cdap.require_same_host("the preview"):
            cdap.previews.get("default", "unknown")
        pid = kill_host(cdap)
        with (
            pytest.raises(
                HostLostError, match=rf"process {pid}\) ended unexpectedly, and the preview"
            ),
            cdap.require_same_host("the preview"),
        ):
            cdap.previews.get("default", "unknown")
