"""Airflow's own operators: what they send, recorded once and sent again in every run.

``make airflow`` makes a Python environment with Airflow and runs the operators against a real server. What
they send, and what they read of the answers, must be ``airflow_requests.json``; when a version of Airflow
sends something else, ``LOCALCDAP_AIRFLOW_RECORD=1`` replaces that file.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.server.rest.recording_proxy import (
    RUN,
    SOURCE,
    Exchange,
    normalize,
    read_answer,
    read_recording,
    record,
    write_recording,
)
from tests.server.rest.server_process import Server

FOLDER = Path(__file__).parent
FILE = FOLDER / "airflow_requests.json"
WAITING = [{"status": each} for each in ("PENDING", "STARTING", "RUNNING")]
PYTHON = os.environ.get("LOCALCDAP_AIRFLOW_PYTHON")


def send_again(client, recorded: Exchange, run: str, source: Path) -> str:
    """Send a request as Airflow did, which waits for the end of runs; return what the answer holds."""
    path = recorded.path.replace(RUN, run)
    body = json.dumps(recorded.body).replace(SOURCE, str(source)) if recorded.body else None
    deadline = time.monotonic() + 60
    while True:
        response = client.send(recorded.method, path, content=body, headers=recorded.headers)
        answer = read_answer(path, response.text)
        sent = msgspec.structs.replace(recorded, status=response.status_code, answer=answer)
        (found,) = normalize([sent], str(source))
        if found == recorded:
            return response.text
        is_waiting = answer in WAITING
        assert is_waiting, (found, response.text)
        assert time.monotonic() < deadline, recorded
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.spark
def test_what_airflow_sent_is_answered_as_then(client, engine, source):
    run = ""
    for each in read_recording(FILE):
        text = send_again(client, each, run, source)
        if each.path.endswith("/start"):
            run = json.loads(text)[0]["runId"]


@pytest.fixture
def server(tmp_path: Path, fresh_home, engine_directory: Path) -> Iterator[Server]:
    home = fresh_home(tmp_path / "home")
    (home / "localcdap.toml").write_text(f'engine.directory = "{engine_directory}"\n')
    made = Server(home)
    try:
        yield made
    finally:
        made.stop()


def run_tasks(folder: Path, address: str, source: Path) -> dict[str, Any]:
    """Return what the tasks of ``airflow_tasks.py`` gave."""
    environment = {
        "HOME": str(folder),
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW_CONN_GOOGLE_CLOUD_DEFAULT": "google-cloud-platform://",
        "NO_PROXY": "*",
        "PATH": os.environ["PATH"],
    }
    script, pipeline = FOLDER / "airflow_tasks.py", FOLDER / "pipeline.json"
    done = subprocess.run(
        [PYTHON, str(script), address, str(pipeline), str(source)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.spark
@pytest.mark.systems
@pytest.mark.timeout(900)
@pytest.mark.skipif(
    PYTHON is None, reason="no Airflow: set LOCALCDAP_AIRFLOW_PYTHON, or run 'make airflow'"
)
def test_airflow_runs_a_pipeline(server, engine, tmp_path, source):
    with record(server.host) as (address, exchanges):
        given = run_tasks(tmp_path, address, source)

    assert "cdap-data-pipeline" in given["artifacts"]
    for listed in ("all", "batch", "version"):
        assert given[listed] == ["csv2table"], listed
    assert given["left"] == []
    assert given["sensed"] == "COMPLETED"
    assert given["event"]["status"] == "success"
    assert given["event"]["pipeline_id"] == given["deferred"]
    assert given["waited"] != given["deferred"]
    assert given["stopped"] == "KILLED"
    assert given["links"]
    found = normalize(exchanges, str(source))
    if os.environ.get("LOCALCDAP_AIRFLOW_RECORD"):
        write_recording(FILE, found)
    assert found == read_recording(FILE)
