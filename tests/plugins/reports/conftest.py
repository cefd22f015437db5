"""The application in the process of the test, with a history of runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from reports.application import ReportGenerationApp
from reports.request import FIELDS

from localcdap.api.app import RunStatusChanged
from localcdap.api.failures import ArtifactId
from localcdap.apps.model import AppAnswer
from localcdap.store.store import Store
from localcdap.testing import AppTester
from localcdap.testing.instance import TemporaryInstance

BEGIN = 1_700_000_000
"""Seconds since 1970 of the first run."""
HOUR = 3600
NAMESPACES = ("default", "ns1", "ns2")
ARTIFACT = ArtifactId("TestArtifact", "1.0.0", "USER")


@pytest.fixture(scope="package")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporaryInstance]:
    with TemporaryInstance(tmp_path_factory.mktemp("reports")) as made:
        yield made


class ReportClient:
    """Calls the application, and publishes events as the host does."""

    def __init__(self, app: AppTester) -> None:
        self.app = app

    def publish(self, events: Sequence[RunStatusChanged]) -> None:
        with self.store.transaction() as tx:
            self.app.messaging._topics.publish_events(tx, events)

    @property
    def store(self) -> Store:
        return self.app.messaging._store

    def post(self, path: str, body: Any = None, user: str | None = None) -> AppAnswer:
        headers = {"cdap-userid": user} if user else {}
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.app.post(path, raw, headers=headers)

    def create(self, **changes: Any) -> AppAnswer:
        return self.post("/reports", make_request(**changes))

    def complete(self, **changes: Any) -> str:
        """Create a report, and return its id when it is complete."""
        answer = self.create(**changes)
        assert answer.status == 200, answer.body
        id: str = answer.body["id"]
        assert self.wait(id)["status"] == "COMPLETED"
        return id

    def info(self, id: str) -> AppAnswer:
        return self.app.get("/reports/info", **{"report-id": id})

    def wait(self, id: str) -> dict[str, Any]:
        """Wait until a report is not being generated any more."""
        return self.wait_for(lambda: self.info(id))

    def wait_for(self, read: Callable[[], AppAnswer]) -> dict[str, Any]:
        deadline = time.monotonic() + 60
        while (found := read()).body.get("status") == "RUNNING":
            assert time.monotonic() < deadline
            time.sleep(0.02)
        body: dict[str, Any] = found.body
        return body

    def download(self, id: str, **query: Any) -> AppAnswer:
        return self.app.get("/reports/download", **{"report-id": id, **query})


@pytest.fixture
def empty(cdap_app) -> ReportClient:
    """One without runs."""
    return ReportClient(cdap_app(ReportGenerationApp))


@pytest.fixture
def client(empty) -> ReportClient:
    """One with the runs of CDAP's ReportGenerationAppTest."""
    for namespace in NAMESPACES[1:]:
        empty.app.namespaces.create(namespace)
    empty.publish(
        [event for each in NAMESPACES for hour in range(5) for event in make_runs(each, hour)]
    )
    return empty


def make_event(
    namespace: str, run: str, status: str, at: int, program: str = "SmartWorkflow_1", **more: Any
) -> RunStatusChanged:
    """An event at a second."""
    more = {"artifact": ARTIFACT, "user": "alice", "start_method": "TRIGGERED", **more}
    return RunStatusChanged(
        namespace,
        "Pipeline",
        run,
        status,
        at * 1000,
        application_version="-SNAPSHOT",
        program=program,
        program_type="WORKFLOW",
        **more,
    )


def make_runs(namespace: str, hour: int) -> list[RunStatusChanged]:
    at = BEGIN + hour * HOUR
    first, second = f"{namespace}-{hour}-1", f"{namespace}-{hour}-2"
    other = "SmartWorkflow_2"
    arguments = {"k1": "v1", "k2": "v2"}
    return [
        make_event(namespace, first, "STARTING", at, arguments=arguments),
        make_event(namespace, first, "FAILED", at + 300, log_errors=2, log_warnings=1),
        make_event(namespace, second, "STARTING", at + 300, other),
        make_event(namespace, second, "RUNNING", at + 600, other),
        make_event(namespace, second, "COMPLETED", at + 1200, other, records_out=7),
    ]


def make_request(**changes: Any) -> dict[str, Any]:
    """The request of the test, with changes; None removes a key."""
    request = {
        "name": "ns1_ns2_report",
        "start": BEGIN,
        "end": BEGIN + 30,
        "fields": list(FIELDS),
        "sort": [{"fieldName": "duration", "order": "DESCENDING"}],
        "filters": [
            {"fieldName": "namespace", "whitelist": ["ns1", "ns2"]},
            {"fieldName": "duration", "range": {"max": 500}},
            {
                "fieldName": "artifactName",
                "blacklist": ["cdap-data-streams", "cdap-data-pipeline"],
            },
        ],
        **changes,
    }
    return {name: value for name, value in request.items() if value is not None}
