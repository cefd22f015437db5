"""The REST server with many pipelines and runs: answers for ten clients, and the list of all pipelines."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import psutil

from benchmarks.measure import Row, within

PIPELINES: Final = 5_000
RUNS: Final = 100_000
CLIENTS: Final = 10
REQUESTS: Final = 200
"""The requests of each client and round."""
_PAUSE_S: Final = 0.05
"""Seconds between the answer and the next request of a client."""
_CALM: Final = 15
"""Seconds without work after which the host counts as idle. Ten seconds after its start, the application of
reports begins to read all runs."""
_IDLE_S: Final = 0.1
"""Seconds of the processor within a second up to which the host counts as idle."""
_CONSTANT: Final = "starlette that answers a constant"
_SERVER: Final = """
import socket, uvicorn
from starlette.responses import Response
end = socket.create_server(("127.0.0.1", 0))
print(end.getsockname()[1], flush=True)
answer = Response(b"x" * 2000, media_type="application/json")
async def app(scope, receive, send):
    await answer(scope, receive, send)
config = uvicorn.Config(app, lifespan="off", access_log=False, log_level="warning", ws="none")
uvicorn.Server(config).run([end])
"""
"""What this machine and these clients take at least."""
_NS: Final = "/v3/namespaces/default"
_PROGRAM: Final = "workflows/DataPipelineWorkflow"
_COPY_PIPELINES: Final = """
    INSERT INTO applications SELECT a.* REPLACE ('pipeline' || i AS name)
    FROM applications a, range(1, ?) t(i) WHERE a.name = 'pipeline0'
"""
_COPY_RUNS: Final = """
    INSERT INTO runs SELECT r.* REPLACE (
        lpad(lower(to_hex(i)), 8, '0') || '-aaaa-11f0-8123-0242ac120002' AS run,
        'pipeline' || i % ? AS pipeline,
        starting - i * 60000 AS starting, finish - i * 60000 AS finish,
        replace(replace(record, r.run, lpad(lower(to_hex(i)), 8, '0') || '-aaaa-11f0-8123-0242ac120002'),
            'pipeline0', 'pipeline' || i % ?) AS record)
    FROM runs r, range(1, ? + 1) t(i) WHERE r.run = ?
"""


def rest(folder: Path, rounds: int) -> Iterator[Row]:
    """Latencies of the server in a process of its own, as its clients see them."""
    # A home of its own: the host of the last time may still wait for clients.
    home = Path(tempfile.mkdtemp(prefix="rest-", dir=folder))
    (home / "localcdap.toml").write_text("host.idle_seconds = 1\n")
    _fill(home)
    command = [sys.executable, "-m", "localcdap.cli", "server"]
    options = ["--home", str(home), "--json"]
    started = subprocess.run(
        [*command, "start", "--port", "0", "--open", *options], capture_output=True, check=True
    )
    try:
        host = json.loads(started.stdout)["address"].removeprefix("http://")
        _ask(host, _list_paths(0), 5)
        _wait_until_idle(home)
        with _serve_constant() as other:
            _ask(other, _list_paths(0), 5)
            times, floor = list[float](), list[float]()
            for number in range(rounds):
                times += _measure_clients(host, number)
                floor += _measure_clients(other, number)
        name = f"GET, {CLIENTS} clients, {PIPELINES:,} pipelines, {RUNS:,} runs"
        yield within(f"{name}, p99", _get_p99(times), 0.02, _CONSTANT, _get_p99(floor))
        middle, least = statistics.median(times), statistics.median(floor)
        yield within(f"{name}, median", middle, 0.02, _CONSTANT, least)
        firsts, wholes = zip(*(_measure_list(host) for _ in range(rounds + 1)), strict=True)
        name = f"list of {PIPELINES:,} pipelines"
        yield within(f"{name}, first byte", statistics.median(firsts[1:]), 0.05)
        yield within(f"{name}, whole", statistics.median(wholes[1:]), 0.5)
    finally:
        subprocess.run([*command, "stop", *options], capture_output=True, check=True)
        shutil.rmtree(home, ignore_errors=True)


def _get_p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def _wait_until_idle(home: Path) -> None:
    """Wait until the host does nothing by itself: the application of reports reads all runs that it finds."""
    record = json.loads((home / "host.json").read_text())
    host = psutil.Process(record["pid"])
    calm, before = 0, 0.0
    while calm < _CALM:
        time.sleep(1.0)
        now = sum(sum(each.cpu_times()[:2]) for each in (host, *host.children(recursive=True)))
        calm = calm + 1 if now - before < _IDLE_S else 0
        before = now


@contextlib.contextmanager
def _serve_constant() -> Iterator[str]:
    """Yield the address of a server in a process of its own that answers each request with the same."""
    process = subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.terminate()
        process.wait()


def _fill(home: Path) -> None:
    """Make an instance with copies of one pipeline and one run."""
    from localcdap.home import Home
    from localcdap.host import open_in_process
    from localcdap.pipeline.library.application_model import DeployRequest
    from tests.runs.stored_runs import write_run

    file = Path(__file__).parent.parent / "tests/server/rest/pipeline.json"
    with open_in_process(Home(home)) as cdap:
        made = cdap.applications.deploy(DeployRequest(file.read_text(), name="pipeline0"))
        assert made.application is not None
        run = write_run(cdap, "pipeline0").run
        with cdap.runs._store.transaction() as tx:
            tx.execute(_COPY_PIPELINES, (PIPELINES,))
            tx.execute(_COPY_RUNS, (PIPELINES, PIPELINES, RUNS, run))


def _list_paths(client: int) -> Sequence[str]:
    """Return what one client asks for: mostly one entity, sometimes a page."""
    paths = []
    for number in range(REQUESTS):
        run = (client * REQUESTS + number) * 37 % RUNS + 1
        app = f"{_NS}/apps/pipeline{run % PIPELINES}"
        paths.append(
            (
                f"{app}/{_PROGRAM}/runs/{run:08x}-aaaa-11f0-8123-0242ac120002",
                app,
                f"{app}/{_PROGRAM}/runs?limit=100",
                f"{app}/{_PROGRAM}/status",
                f"{_NS}/apps?pageSize=100&pageToken=pipeline{run % PIPELINES}.1",
            )[number % 5]
        )
    return paths


def _measure_clients(host: str, number: int) -> list[float]:
    """Return the seconds of each request of all clients, which ask at the same time."""
    times: list[float] = []
    threads = [
        threading.Thread(
            target=lambda at=at: times.extend(_ask(host, _list_paths(number * CLIENTS + at)))
        )
        for at in range(CLIENTS)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return times


def _ask(host: str, paths: Sequence[str], most: int = REQUESTS) -> list[float]:
    times = []
    connection = http.client.HTTPConnection(host)
    for path in paths[:most]:
        time.sleep(_PAUSE_S)
        start = time.perf_counter()
        connection.request("GET", path)
        response = connection.getresponse()
        body: Any = response.read()
        times.append(time.perf_counter() - start)
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {body[:200]}")
    connection.close()
    return times


def _measure_list(host: str) -> tuple[float, float]:
    """Return the seconds until the first byte of the list, and until its end."""
    connection = http.client.HTTPConnection(host)
    start = time.perf_counter()
    connection.request("GET", f"{_NS}/apps")
    response = connection.getresponse()
    first = response.read(1)
    began = time.perf_counter() - start
    listed = json.loads(first + response.read())
    took = time.perf_counter() - start
    connection.close()
    if len(listed) != PIPELINES:
        raise RuntimeError(f"{len(listed)} pipelines were listed")
    return began, took
