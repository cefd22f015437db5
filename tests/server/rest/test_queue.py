"""Many starts at once over real sockets: each answer has a run that can be read, and all runs complete."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import wait_until
from tests.server.rest.client import NS, WORKFLOW
from tests.server.rest.server_process import Server

PROCESSES = 2


@pytest.fixture
def server(
    tmp_path: Path, fresh_home, engine_directory: Path, pipeline, source
) -> Iterator[Server]:
    home = fresh_home(tmp_path / "home")
    (home / "localcdap.toml").write_text(
        f'runs.parallel = {PROCESSES}\nengine.directory = "{engine_directory}"\n'
    )
    config = pipeline["config"]
    config["stages"] = [each for each in config["stages"] if each["name"] != "agg"]
    config["connections"] = [{"from": "src", "to": "out"}]
    made = Server(home)
    try:
        assert made.ask("PUT", f"{NS}/apps/totals", pipeline)[0] == 200
        assert made.ask("PUT", f"{NS}/preferences", {"in.path": str(source)})[0] == 200
        yield made
    finally:
        made.stop()


def list_processes(home: Path) -> list[int]:
    """The run processes of an instance: their output goes into the folders of their runs."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "fd/1").readlink().is_relative_to(home / "runs"):
                found.append(int(process.name))
    return found


def start_at_once(server: Server, number: int) -> list[str]:
    """Start runs from as many clients, each of which reads its run at once; return their ids."""
    body = [{"appId": "totals", "programType": "workflow", "programId": "DataPipelineWorkflow"}]
    runs: list[str] = []
    problems: list[Any] = []

    def start() -> None:
        status, answer = server.ask("POST", f"{NS}/start", body)
        if status != 200 or answer[0]["statusCode"] != 200:
            problems.append(answer)
            return
        run = answer[0]["runId"]
        status, record = server.ask("GET", f"{NS}/apps/totals/{WORKFLOW}/runs/{run}")
        if status != 200 or record["runid"] != run:
            problems.append(record)
        runs.append(run)

    clients = [threading.Thread(target=start) for _ in range(number)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    assert problems == []
    return runs


def wait_for_end(server: Server, number: int) -> tuple[list[dict[str, Any]], int]:
    """Return the records of all runs when they have ended, and the most processes that were there."""
    most = 0

    def have_ended() -> list[dict[str, Any]] | None:
        nonlocal most
        most = max(most, len(list_processes(server.home)))
        _, active = server.ask("GET", f"{NS}/apps/totals/{WORKFLOW}/status")
        if active["status"] != "STOPPED":
            return None
        return server.ask("GET", f"{NS}/apps/totals/{WORKFLOW}/runs?limit={number}")[1]

    return wait_until(have_ended, "all runs have ended", timeout_s=60 + 10 * number), most


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc")
@pytest.mark.parametrize(
    "number", [8, pytest.param(200, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
def test_all_starts_at_once_are_answered_and_run(server, number):
    runs = start_at_once(server, number)
    ended, most = wait_for_end(server, number)

    assert sorted(each["runid"] for each in ended) == sorted(runs)
    assert {each["status"] for each in ended} == {"COMPLETED"}
    assert 0 < most <= PROCESSES


def test_a_run_that_waits_is_pending_and_can_be_stopped(client, cdap, pipeline, source):
    client.ok("PUT", f"{NS}/apps/totals", pipeline)
    queue, held = cdap.runs._starter.queue, [f"held{n}" for n in range(64)]
    for each in held:
        queue.note_process(each)
    program, arguments = f"{NS}/apps/totals/{WORKFLOW}", {"in.path": str(source)}
    for _ in range(3):
        client.ok("POST", f"{program}/start", arguments)
    records = client.ok("GET", f"{program}/runs?status=PENDING")

    assert [each["status"] for each in records] == ["PENDING"] * 3
    assert [each["cluster"] for each in records] == [{"status": "PROVISIONING"}] * 3
    assert client.ok("GET", f"{program}/status") == {"status": "STARTING"}
    first = records[-1]["runid"]
    client.ok("POST", f"{program}/runs/{first}/stop")
    killed = client.ok("GET", f"{program}/runs/{first}")
    assert (killed["status"], killed["cluster"]["status"]) == ("KILLED", "DEPROVISIONED")
    client.ok("POST", f"{program}/stop")
    assert client.ok("GET", f"{program}/status") == {"status": "STOPPED"}
    assert client.refused("POST", f"{program}/stop")[0] == 400
    assert queue.list_positions() == {}
    for each in held:
        queue.leave(each)
