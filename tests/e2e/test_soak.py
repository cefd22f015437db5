"""Ten thousand operations of all kinds through one host: neither its memory nor its handles grow.

``LOCALCDAP_SOAK_OPERATIONS=10000 pytest -s -m soak tests/e2e/test_soak.py`` shows the course.
"""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from localcdap.api.metadata import MetadataEntity
from localcdap.apps.model import AppRequest
from localcdap.datasets.model import DatasetRequest
from localcdap.datasets.sql import SqlRequest
from localcdap.home import Home
from localcdap.host import Cdap, connect
from localcdap.metadata.search import SearchRequest
from localcdap.pipeline.editing.edits import SetProperty
from localcdap.pipeline.editing.service import OpenRequest
from localcdap.pipeline.library.application_model import DeployRequest, DraftRequest
from localcdap.pipeline.service import PipelineRequest
from localcdap.runs.model import RunRequest
from localcdap.runs.preview.model import PreviewRequest
from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema
from tests.e2e.program import Program

OPERATIONS = int(os.environ.get("LOCALCDAP_SOAK_OPERATIONS", "10000"))
THREADS = 4
PIPELINES = 20
"""The names among which operations choose: what there is does not grow, but for versions."""
ROW = schema(id="int")


class Measures(NamedTuple):
    """What a process takes."""

    resident: int
    """Bytes."""
    files: int
    threads: int
    children: int

    @classmethod
    def of(cls, process: psutil.Process) -> Measures:
        children = len(process.children(recursive=True))
        memory = process.memory_info().rss
        return cls(memory, process.num_fds(), process.num_threads(), children)


class Operations:
    """All kinds of operations on an instance. Each has a number, which changes what it does."""

    def __init__(self, cdap: Cdap, address: str, folder: Path) -> None:
        self._cdap, self._address, self._folder = cdap, address, folder
        (folder / "in.csv").write_text("1\n2\n3\n")
        properties = {"schema": ROW, "schema.row.field": "id"}
        cdap.datasets.create(DatasetRequest("rows", "table", properties))
        for number in range(PIPELINES):
            self.deploy(number)
        headers = {"file": "x", "delimiter": r"\n"}
        self._workspace = self._prepare("POST", "upload", b"a,1\nb,2\n", headers)
        self.frequent: list[Callable[[int], Any]] = [
            self.validate,
            self.list_pipelines,
            self.search,
            self.change_metadata,
            self.edit,
            self.execute,
            self.write,
            self.query,
            self.ask,
            self.save,
        ]
        self.rare: list[Callable[[int], Any]] = [self.deploy]
        """Each once in a hundred operations."""
        self.rarest: list[Callable[[int], Any]] = [self.preview, self.run]
        """Each once in five hundred, with Spark."""

    def perform(self, number: int) -> None:
        if number % 500 < len(self.rarest):
            self.rarest[number % 500](number)
        elif number % 100 < len(self.rarest) + len(self.rare):
            self.rare[number % len(self.rare)](number)
        else:
            self.frequent[number % len(self.frequent)](number)

    def _build(self, number: int) -> dict[str, Any]:
        source = csv_source("In", self._folder / "in.csv", ROW, skipHeader=str(number % 2 == 0))
        stages = [source, json_sink("Out", self._folder / "out" / "${name}")]
        document = pipeline(stages, ("In", "Out")) | {"name": _name(number)}
        return document | {"description": f"round {number}"}

    def validate(self, number: int) -> None:
        document = self._build(number)
        document["config"]["stages"][0]["plugin"]["properties"]["referenceName"] = f"r{number}"
        assert self._cdap.studio.validate_pipeline(PipelineRequest(document)).errors == []

    def deploy(self, number: int) -> None:
        assert self._cdap.applications.deploy(DeployRequest(self._build(number))).errors == []

    def list_pipelines(self, number: int) -> None:
        assert len(self._cdap.applications.list_applications("default")) == PIPELINES
        self._cdap.runs.list_runs("default", limit=5)
        self._cdap.applications.export("default", _name(number))

    def search(self, number: int) -> None:
        self._cdap.metadata.search(SearchRequest(f"round{number % 100}* p{number % PIPELINES}"))

    def change_metadata(self, number: int) -> None:
        entity = MetadataEntity(
            {"namespace": "default", "application": _name(number)}, "application"
        )
        self._cdap.metadata.add(entity, {"round": f"round{number}"}, [f"t{number % 7}"])
        self._cdap.metadata.remove(entity, tags=[f"t{number % 7}"])

    def edit(self, number: int) -> None:
        opened = self._cdap.editing.open(OpenRequest(self._build(number)))
        edit = SetProperty("In", "referenceName", f"n{number}")
        self._cdap.editing.apply(opened.id, edit)
        self._cdap.editing.get_document(opened.id)
        self._cdap.editing.close(opened.id)

    def execute(self, number: int) -> None:
        recipe = {"directives": ["parse-as-csv :body ',' false", f"set-column :n {number}"]}
        self._prepare("POST", f"{self._workspace}/execute", recipe)

    def _prepare(self, method: str, path: str, body: Any, headers: dict[str, str] = {}) -> Any:  # noqa: B006
        path = f"/v2/contexts/default/workspaces/{path}"
        answer = self._cdap.apps.call(
            "dataprep", AppRequest(method, path, {}, body, headers=headers)
        )
        assert answer.status == 200, answer.body
        return answer.body

    def write(self, number: int) -> None:
        row = {"id": number % 1000}
        self._cdap.transactions.run(lambda tx: tx.dataset("rows").write(row))

    def query(self, number: int) -> None:
        query = f"SELECT count(*) FROM rows WHERE id < {number % 1000}"
        self._cdap.sql.query(SqlRequest(query)).to_table()

    def ask(self, number: int) -> None:
        connection = http.client.HTTPConnection(self._address.removeprefix("http://"))
        connection.request("GET", f"/v3/namespaces/default/apps/{_name(number)}")
        response = connection.getresponse()
        assert (response.status, bool(response.read())) == (200, True)
        connection.close()

    def save(self, number: int) -> None:
        draft = DraftRequest(self._build(number))
        self._cdap.drafts.save("default", draft, f"d{number % PIPELINES}")

    def preview(self, number: int) -> None:
        request = PreviewRequest(json.dumps(self._build(number)), arguments={"name": "x"})
        preview = self._cdap.previews.start(request)
        while not preview.status.is_end:
            preview = self._cdap.previews.wait("default", preview.preview, preview.version, 5.0)
        assert preview.status.name == "COMPLETED", preview

    def run(self, number: int) -> None:
        request = RunRequest(self._build(number), arguments={"name": f"n{number}"})
        run = self._cdap.runs.start(request)
        assert self._cdap.runs.wait_for_end(run.run, 240).status.name == "COMPLETED"


def _name(number: int) -> str:
    return f"p{number % PIPELINES}"


def work(operations: Operations, numbers: range) -> list[str]:
    """Perform operations in some threads; return what failed."""
    left, failed = iter(numbers), list[str]()
    taking = threading.Lock()

    def take() -> int | None:
        with taking:
            return next(left, None)

    def perform() -> None:
        while (number := take()) is not None:
            try:
                operations.perform(number)
            except Exception as error:  # noqa: BLE001 - the test reports it
                failed.append(f"{number}: {error!r}")

    threads = [threading.Thread(target=perform) for _ in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return failed


@contextmanager
def open_server(program: Program) -> Iterator[dict[str, Any]]:
    """The REST server of an instance: its address and process."""
    yield program("server", "start", "--port", "0", "--open", "--json").json
    program("server", "stop")


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.timeout(3600)
def test_ten_thousand_operations_leave_nothing(program: Program, tmp_path: Path) -> None:
    for name, value in program.environment.items():
        os.environ[name] = value
    with open_server(program) as server, connect(Home(program.home)) as cdap:
        operations = Operations(cdap, server["address"], tmp_path)
        processes = [psutil.Process(cdap.host_pid), psutil.Process(server["pid"])]
        course, step, began = [], OPERATIONS // 10, time.monotonic()
        for start in range(0, OPERATIONS, step):
            assert work(operations, range(start, start + step)) == []
            course.append([Measures.of(each) for each in processes])
            print(start + step, round(time.monotonic() - began), *course[-1], flush=True)  # noqa: T201

    for warm, last in zip(course[2], course[-1], strict=True):
        assert last.resident < warm.resident * 1.1 + 10 * 2**20
        assert last.files <= warm.files + 5
        assert last.threads <= warm.threads + 3
        assert last.children <= warm.children + 3
