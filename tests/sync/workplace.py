"""An instance with a folder, as one person has them, and pipelines for them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.sync.model import SyncDirection, SyncPlan
from localcdap.sync.synchronizer import Synchronizer
from localcdap.testing import TemporaryInstance


def make_pipeline(name: str = "orders", path: str = "in.csv", description: str = "all") -> Any:
    """A pipeline that can be deployed: it reads a file, and drops the records."""
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "id", "type": "string"}, {"name": "amount", "type": "int"}],
    }
    source = {
        "path": path,
        "format": "csv",
        "schema": json.dumps(schema),
        "referenceName": "in",
    }
    plugins = [
        ("read", "File", "batchsource", source),
        ("drop", "Trash", "batchsink", {"referenceName": "out"}),
    ]
    stages = [
        {"name": stage, "plugin": {"name": plugin, "type": type, "properties": properties}}
        for stage, plugin, type, properties in plugins
    ]
    return {
        "name": name,
        "artifact": {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"},
        "config": {
            "engine": "spark",
            "stages": stages,
            "connections": [{"from": "read", "to": "drop"}],
            "properties": {},
            "description": description,
        },
    }


class Workplace:
    """One instance with a folder."""

    def __init__(self, instance: TemporaryInstance, folder: Path) -> None:
        self.instance = instance
        self.cdap = instance.cdap
        self.folder = folder
        self.made = Synchronizer(self.cdap.sync, "default", folder)

    def deploy(self, document: Any) -> None:
        answer = self.cdap.applications.deploy(DeployRequest(document))
        assert answer.application, answer.errors

    def plan(self, direction: SyncDirection = SyncDirection.BOTH, choices: Any = None) -> SyncPlan:
        return self.made.plan(direction, choices)

    def sync(
        self, direction: SyncDirection = SyncDirection.BOTH, choices: Any = None, **options: Any
    ) -> SyncPlan:
        """Synchronize; the plan must be without problems and conflicts."""
        with self.made.hold():
            plan = self.plan(direction, choices)
            assert (plan.problems, plan.conflicts) == ([], [])
            outcome = self.made.apply(plan, **options)
        assert outcome.problems == []
        return plan

    def names(self) -> list[str]:
        return sorted(
            path.relative_to(self.folder).as_posix()
            for path in self.folder.rglob("*")
            if path.is_file()
        )

    def read(self, path: str) -> Any:
        return json.loads((self.folder / path).read_text(encoding="utf-8"))

    def write(self, path: str, document: Any) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = document if isinstance(document, str) else json.dumps(document, indent=2)
        file.write_text(text, encoding="utf-8")

    def export(self, name: str = "orders") -> Any:
        return json.loads(self.cdap.applications.export("default", name))


@contextlib.contextmanager
def open_workplaces(
    fresh_home: Callable[[Path], Path], folder: Path
) -> Iterator[Callable[..., Workplace]]:
    """Yield a function that makes workplaces, by the names of the instance and of the folder."""
    with contextlib.ExitStack() as opened:

        def make(name: str = "one", shared: str = "folder") -> Workplace:
            instance = TemporaryInstance(fresh_home(folder / name))
            return Workplace(opened.enter_context(instance), folder / shared)

        yield make
