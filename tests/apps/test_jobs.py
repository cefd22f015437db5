"""Jobs of applications on Spark: their queue, their ends, and what outlives what."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from localcdap.api.app import JobDetail
from localcdap.api.client import connect
from localcdap.api.errors import ConflictError
from localcdap.api.security import Principal
from localcdap.apps.model import AppAnswer, AppRequest
from localcdap.engine.messages.host import StatementBatch
from localcdap.rpc.host_record import read_host_record
from localcdap.security.principals import act_as
from localcdap.testing import TemporaryInstance

pytestmark = pytest.mark.spark
HERE = Path(__file__).parent
_numbers = itertools.count()
KILLED = (
    "The process of the run ended before the run did. It was killed by SIGKILL, as a user or a system "
    "without free memory does."
)


class Instance(TemporaryInstance):
    def put_application(self) -> None:
        place = self.home.path / "given" / "counting-1.0.0.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(HERE / "counting.py", place)
        self.drop(place, "system")

    def call(self, method: str, path: str, body: Any = None) -> AppAnswer:
        return self.cdap.apps.call("counting", AppRequest(method, path, {}, body))


class Client:
    """Calls the application in one namespace."""

    def __init__(self, instance: Instance, namespace: str) -> None:
        self.instance = instance
        self.namespace = namespace

    def get(self, path: str) -> Any:
        answer = self.instance.call("GET", f"/contexts/{self.namespace}/{path}")
        assert answer.status == 200, answer.body
        return answer.body

    def submit(self, job: str, **arguments: Any) -> str:
        path = f"/contexts/{self.namespace}/jobs/{job}"
        answer = self.instance.call("POST", path, arguments)
        assert answer.status == 200, answer.body
        id: str = answer.body
        return id

    def wait(self, id: str) -> JobDetail:
        return self.instance.cdap.jobs.wait(id, 120)

    def count(self, file: Path, name: str) -> str:
        return self.submit("count", name=name, pipeline=make_pipeline(file))


def make_pipeline(file: Path) -> dict[str, Any]:
    schema = {
        "type": "record",
        "name": "line",
        "fields": [{"name": "body", "type": ["string", "null"]}],
    }
    text = json.dumps(schema)
    source = {"path": str(file), "format": "text", "referenceName": "r", "schema": text}
    recipe = {"directives": "filter-rows-on regex-match body ^bad", "field": "*", "schema": text}
    stages = [
        ("file", "batchsource", "File", source),
        ("prepare", "transform", "Wrangler", recipe),
        ("end", "batchsink", "Trash", {}),
    ]
    return {
        "name": "input",
        "artifact": {"name": "cdap-data-pipeline", "version": "6.10.1", "scope": "SYSTEM"},
        "config": {
            "stages": [
                {"name": name, "plugin": {"type": type, "name": plugin, "properties": properties}}
                for name, type, plugin, properties in stages
            ],
            "connections": [{"from": "file", "to": "prepare"}, {"from": "prepare", "to": "end"}],
        },
    }


def make_table_pipeline(table: str) -> dict[str, Any]:
    fields = [{"name": "n", "type": ["int", "null"]}]
    schema = json.dumps({"type": "record", "name": "row", "fields": fields})
    source = {"type": "batchsource", "name": "Table"}
    source["properties"] = {"name": table, "schema": schema}  # type: ignore[assignment]
    stages = [
        {"name": "table", "plugin": source},
        {"name": "end", "plugin": {"type": "batchsink", "name": "Trash", "properties": {}}},
    ]
    config = {"stages": stages, "connections": [{"from": "table", "to": "end"}]}
    return make_pipeline(Path("unused")) | {"config": config}


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with Instance(tmp_path_factory.mktemp("jobs") / "home") as made:
        made.put_application()
        yield made


@pytest.fixture
def client(instance: Instance) -> Client:
    name = f"n{next(_numbers)}"
    instance.cdap.namespaces.create(name)
    return Client(instance, name)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    file = tmp_path / "lines.txt"
    file.write_text("a\nbad\nb\nc\n")
    return file


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_it_works_on_spark_with_transactions_files_and_a_pipeline(client, lines):
    id = client.count(lines, "first")

    done = client.wait(id)

    assert (done.status, done.error) == ("COMPLETED", None)
    assert done.result["rows"] == 3
    assert done.result["stages"]["prepare"] == {"in": 4, "out": 3, "error": 0}
    assert client.get("totals") == {"first": 3}
    log = client.get(f"jobs/{id}/log")
    assert "counting for first" in [line["text"] for line in log]
    wait_until(lambda: client.get("ends") == {id: "COMPLETED"})
    folder = client.instance.home.app_files / "app-counting"
    assert [each.read_text() for each in folder.glob(f"{client.namespace}-*/count.txt")] == ["3"]
    wait_until(lambda: not list(client.instance.home.jobs.iterdir()))


def test_what_is_wrong_is_said_at_once_or_fails_the_job(client, lines):
    path = f"/contexts/{client.namespace}/jobs"
    unknown = client.instance.call("POST", f"{path}/nothing", {})
    pipeline = make_pipeline(lines)
    del pipeline["config"]["stages"][0]["plugin"]["properties"]["path"]
    invalid = client.instance.call("POST", f"{path}/count", {"name": "x", "pipeline": pipeline})

    assert (unknown.status, unknown.body["message"]) == (
        404,
        "Application 'counting' has no job 'nothing'; jobs: count, misbehave.",
    )
    assert invalid.status == 400
    assert "path" in invalid.body["message"]
    raised = client.wait(client.submit("misbehave", how="raise"))
    assert (raised.status, raised.error) == (
        "FAILED",
        "Job 'misbehave' of application 'counting': ValueError: no luck",
    )
    divided = client.wait(client.submit("misbehave", how="divide")).error or ""
    assert divided.startswith("Job 'misbehave' of application 'counting': Division by zero.")
    assert "JVM" not in divided
    ended = client.wait(client.submit("misbehave", how="exit"))
    assert ended.status == "FAILED"
    assert "It exited with code 3." in (ended.error or "")
    large = client.wait(client.submit("misbehave", how="memory"))
    assert (large.status, large.error) == (
        "FAILED",
        "Job 'misbehave' of application 'counting' needs more than 2048 MiB in its process.",
    )


def test_jobs_wait_in_a_queue_and_stop_there_too(client, lines, tmp_path):
    running = client.submit("misbehave", how="wait", file=str(tmp_path / "waits"))
    second, third = client.count(lines, "second"), client.count(lines, "third")
    wait_until((tmp_path / "waits").exists)

    places = {each["id"]: each["position"] for each in client.get("jobs")}
    client.instance.cdap.jobs.stop(second)

    assert places == {running: 0, second: 1, third: 2}
    assert client.wait(second).status == "KILLED"
    assert client.instance.cdap.jobs.get(third).position == 1
    client.instance.cdap.jobs.stop(running)
    assert client.wait(running).status == "KILLED"
    assert client.wait(third).status == "COMPLETED"
    assert client.get("totals") == {"third": 3}


def test_a_namespace_ends_its_jobs(client, lines, tmp_path):
    running = client.submit("misbehave", how="wait", file=str(tmp_path / "waits"))
    waiting = client.count(lines, "waiting")
    wait_until((tmp_path / "waits").exists)
    (process,) = find_job_processes(client.instance.home.jobs / running)

    with pytest.raises(
        ConflictError, match=f"in use: job {running} of application 'counting', job"
    ):
        client.instance.cdap.namespaces.delete(client.namespace)
    client.instance.cdap.namespaces.delete(client.namespace, force=True)

    process.wait(60)
    ids = {each.job.detail.id for each in client.instance.cdap.jobs._records.list_active()}
    assert not ids & {running, waiting}
    wait_until(lambda: not list(client.instance.home.jobs.iterdir()))
    folder = client.instance.home.app_files / "app-counting"
    assert not list(folder.glob(f"{client.namespace}-*"))


@pytest.mark.slow
def test_the_queue_and_a_running_job_outlive_their_host(tmp_path, lines, engine_directory):
    with Instance(tmp_path / "home") as instance:
        instance.put_application()
        client = Client(instance, "default")
        running = client.submit("misbehave", how="wait", file=str(tmp_path / "waits"))
        waiting = client.count(lines, "waiting")
        wait_until((tmp_path / "waits").exists)
        instance.close()
        assert {each.id: each.status for each in instance.cdap.jobs.list_jobs("default")} == {
            waiting: "PENDING",
            running: "RUNNING",
        }
        instance.cdap.jobs.stop(running)
        assert instance.cdap.jobs.wait(running, 60).status == "KILLED"
        assert instance.cdap.jobs.wait(waiting, 60).status == "COMPLETED"


@pytest.mark.slow
def test_a_killed_host_and_a_killed_process_leave_the_truth(tmp_path, lines, engine_directory):
    with Instance(tmp_path / "home") as instance:
        instance.put_application()
        instance.cdap.artifacts.sync()
        instance.close()
        home = str(instance.home.path)
        with connect(home) as cdap:  # to a host in the background
            record = read_host_record(instance.home.path)
            path = "/contexts/default/jobs"

            def submit(job: str, **arguments: Any) -> str:
                request = AppRequest("POST", f"{path}/{job}", {}, arguments)
                answer = cdap.apps.call("counting", request)
                assert answer.status == 200, answer.body
                id: str = answer.body
                return id

            running = submit("misbehave", how="wait", file=str(tmp_path / "waits"))
            waiting = submit("count", name="w", pipeline=make_pipeline(lines))
            wait_until((tmp_path / "waits").exists)
            os.kill(record.pid, signal.SIGKILL)
            wait_until(lambda: psutil.Process(record.pid).status() == psutil.STATUS_ZOMBIE)
        with connect(home) as cdap:
            # The killed host may not have read yet that the job runs.
            wait_until(
                lambda: (
                    [each.status for each in cdap.jobs.list_jobs("default")]
                    == ["PENDING", "RUNNING"]
                )
            )
            (process,) = find_job_processes(instance.home.jobs / running)
            process.kill()

            killed = cdap.jobs.wait(running, 60)

            assert killed.status == "FAILED"
            # This host did not start the process, so it may not know its signal.
            assert KILLED.startswith(killed.error or "?")
            assert cdap.jobs.wait(waiting, 60).status == "COMPLETED"


def find_job_processes(directory: Path) -> list[psutil.Process]:
    """Return the processes that write the spool of a job; hosts may just read it."""
    spool, found = str(directory / "spool"), []
    for each in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(file.path == spool and file.mode != "r" for file in each.open_files()):
                found.append(each)
    return found


PRIVILEGES = """
[security]
enabled = true

[security.privileges.alice]
"namespaces/default" = ["WRITE"]
"namespaces/system" = ["EXECUTE"]

[security.privileges.bob]
"namespaces/default" = ["READ", "WRITE"]
"namespaces/system" = ["EXECUTE"]

[security.privileges.root]
"*" = ["READ", "WRITE", "EXECUTE", "ADMIN"]
"""


@pytest.mark.slow
def test_the_input_is_read_as_its_user_may(tmp_path: Path):
    """An application may do everything, but lends that to nobody who calls it."""
    with Instance(tmp_path / "home") as instance:
        instance.put_application()
        instance.settings(PRIVILEGES)
        jobs, batch = Client(instance, "default"), "CREATE TABLE people AS SELECT 1 AS n"
        with act_as(Principal("root")):
            instance.cdap.table_statements.carry_out(StatementBatch("default", [batch], ["people"]))
        ends = {}
        for user in ("alice", "bob"):
            with act_as(Principal(user)):
                id = jobs.submit("count", name=user, pipeline=make_table_pipeline("people"))
            with act_as(Principal("root")):
                ends[user] = jobs.wait(id)
    assert (ends["alice"].status, ends["bob"].status) == ("FAILED", "COMPLETED")
    assert "'READ' on entity 'dataset:default.people'" in str(ends["alice"].error)
