"""Many clients at once over real sockets: every request is answered, and the server does not grow."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

CLIENTS = 50
PATHS = (
    "/v3/namespaces",
    "/v3/namespaces/default/apps?pageSize=100",
    "/v3/namespaces/default/artifacts",
    "/v3/namespaces/nope",
    "/v3/metadata/search?query=x*",
)


@pytest.fixture
def server(tmp_path: Path, fresh_home):
    home = fresh_home(tmp_path / "home")
    command = [sys.executable, "-m", "localcdap.cli", "server"]
    options = ["--home", str(home), "--json"]
    started = subprocess.run(
        [*command, "start", "--port", "0", "--open", *options], capture_output=True, check=True
    )
    yield json.loads(started.stdout)
    subprocess.run([*command, "stop", *options], capture_output=True, check=True)


def ask_until(address: str, end: float, statuses: list[int]) -> None:
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
    number = 0
    while number < 2 or time.monotonic() < end:
        connection.request("GET", PATHS[number % len(PATHS)])
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
        number += 1
    connection.close()


def load(address: str, seconds: float) -> list[int]:
    """Return the codes that fifty clients get who ask for some time."""
    statuses: list[int] = []
    end = time.monotonic() + seconds
    clients = [
        threading.Thread(target=ask_until, args=(address, end, statuses)) for _ in range(CLIENTS)
    ]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    return statuses


@pytest.mark.slow
def test_fifty_clients_are_answered(server):
    statuses = load(server["address"], 3)

    assert len(statuses) >= 2 * CLIENTS
    assert set(statuses) <= {200, 404}


@pytest.mark.soak
def test_the_memory_stays_as_it_is(server):
    load(server["address"], 15)
    process = psutil.Process(server["pid"])
    before = process.memory_info().rss

    statuses = load(server["address"], 60)

    assert set(statuses) <= {200, 404}
    assert process.memory_info().rss < before * 1.1 + 10 * 1024 * 1024
