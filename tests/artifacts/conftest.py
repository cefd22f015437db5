from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from localcdap.artifacts.model import Inspection, SyncReport
from localcdap.artifacts.service import ArtifactService
from localcdap.sandbox.pool import PluginWorkers
from localcdap.store.store import Transaction
from localcdap.testing.instance import open_new_store


class CountingInspector:
    """The real workers, which also say what they were asked to inspect."""

    def __init__(self, workers: PluginWorkers) -> None:
        self._workers = workers
        self.inspected: list[str] = []

    def inspect(self, path: str, digest: str) -> Inspection:
        self.inspected.append(Path(path).name)
        return self._workers.inspect(path, digest)


class Instance:
    """Directories, store and inspector of an instance, with services opened as often as wanted."""

    def __init__(self, folder: Path, workers: PluginWorkers) -> None:
        self.system = folder / "system"
        self.plugins = folder / "plugins"
        self.cache = folder / "cache"
        self.trash = folder / "trash"
        self.plugins.mkdir()
        self.store = open_new_store(folder / "instance.duckdb")
        self.inspector = CountingInspector(workers)

    def open(
        self,
        *required: str,
        known: Sequence[str] = (),
        on_change: Callable[[Transaction, SyncReport], None] | None = None,
    ) -> ArtifactService:
        return ArtifactService(
            self.store,
            self.inspector,
            system_directory=self.system,
            plugin_directories=[self.plugins],
            cache=self.cache,
            required_capabilities=required,
            known_capabilities=known,
            on_change=on_change,
            trash=self.trash,
        )

    def synced(self, *required: str, known: Sequence[str] = ()) -> ArtifactService:
        service = self.open(*required, known=known)
        service.sync()
        return service


@pytest.fixture(scope="session")
def workers() -> Iterator[PluginWorkers]:
    workers = PluginWorkers(time_limit_s=100, memory_mb=1024)
    yield workers
    workers.close()


@pytest.fixture
def instance(tmp_path: Path, workers: PluginWorkers) -> Iterator[Instance]:
    instance = Instance(tmp_path, workers)
    yield instance
    instance.store.close()
