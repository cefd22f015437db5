"""One instance with the application, which is called as its clients call it."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.apps.model import AppAnswer, AppRequest
from localcdap.testing.instance import TemporaryInstance

_numbers = itertools.count()
FIELDS = {"size": "double", "colour": "string", "legs": "int", "kind": "string", "weight": "double"}


class AnalyticsClient:
    """Calls the service of the application in one namespace."""

    def __init__(self, instance: TemporaryInstance, namespace: str) -> None:
        self.instance = instance
        self.namespace = namespace

    def call(self, method: str, path: str, body: Any = None, **query: str) -> AppAnswer:
        whole = f"/v2/contexts/{self.namespace}/{path}"
        request = AppRequest(method, whole, dict(query), body)
        return self.instance.cdap.apps.call("ModelManagementApp", request)

    def do(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """Call a route that succeeds, and return the body."""
        answer = self.call(method, path, body, **query)
        assert answer.status == 200, answer.body
        return answer.body

    def put_experiment(self, file: Path, outcome: str = "kind", type: str = "string") -> None:
        body = {"description": "", "srcpath": str(file), "outcome": outcome, "outcomeType": type}
        self.do("PUT", "experiments/e", {**body, "directives": DIRECTIVES})

    def split(self, **more: Any) -> str:
        """Split the data of the experiment ``e``, and return the id of the split when that is done."""
        body = {
            "type": "random",
            "params": {"testPercentage": "30", "seed": "7"},
            "directives": DIRECTIVES,
            "schema": SCHEMA,
            **more,
        }
        id: str = self.do("POST", "experiments/e/splits", body)["id"]
        self.wait_for_jobs()
        return id

    def train(self, split: str, algorithm: str, **more: Any) -> dict[str, Any]:
        """Train a model, and return it when that is done."""
        id = self.do("POST", "experiments/e/models", {"name": algorithm, "split": split})["id"]
        self.do("POST", f"experiments/e/models/{id}/train", {"algorithm": algorithm, **more})
        self.wait_for_jobs()
        model: dict[str, Any] = self.do("GET", f"experiments/e/models/{id}")
        return model

    def wait_for_jobs(self) -> None:
        jobs = self.instance.cdap.jobs
        for each in jobs.list_jobs(self.namespace):
            assert jobs.wait(each.id, 120).has_ended
        deadline = time.monotonic() + 60
        while self._is_busy():  # the application hears of a failed job some moments later
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def _is_busy(self) -> bool:
        entities = [*self.do("GET", "experiments/e/models", limit="100")["models"]]
        entities += self.do("GET", "experiments/e/splits")
        return any(each["status"] in ("Splitting", "Training") for each in entities)


SCHEMA = {
    "type": "record",
    "name": "animal",
    "fields": [{"name": name, "type": [type, "null"]} for name, type in FIELDS.items()],
}
DIRECTIVES = [
    "parse-as-csv :body ',' false",
    "drop :body",
    *(f"rename body_{number} {name}" for number, name in enumerate(FIELDS, 1)),
    "set-type :size double",
    "set-type :legs integer",
    "set-type :weight double",
]


def write_animals(file: Path, count: int = 160) -> Path:
    """Write animals whose kind and weight follow from the other columns, with some noise."""
    drawn = random.Random(5)
    lines = []
    for _ in range(count):
        size, colour = drawn.uniform(0, 10), drawn.choice(["red", "green", "blue"])
        legs = drawn.choice([2, 4])
        kind = "cat" if size + (2 if colour == "red" else 0) + drawn.gauss(0, 0.5) > 5 else "dog"
        weight = 3 * size + legs + drawn.gauss(0, 0.2)
        lines.append(f"{size:.3f},{colour},{legs},{kind},{weight:.3f}")
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture(scope="package")
def instance(
    tmp_path_factory: pytest.TempPathFactory, cdap_engine_directory: Path
) -> Iterator[TemporaryInstance]:
    with TemporaryInstance(tmp_path_factory.mktemp("analytics")) as made:
        yield made


@pytest.fixture
def client(instance: TemporaryInstance) -> AnalyticsClient:
    """In a namespace of its own."""
    name = f"n{next(_numbers)}"
    instance.cdap.namespaces.create(name)
    return AnalyticsClient(instance, name)


@pytest.fixture(scope="session")
def animals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_animals(tmp_path_factory.mktemp("animals") / "animals.csv")
