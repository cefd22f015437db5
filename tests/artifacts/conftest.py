from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from localcdap.artifacts.model import Inspection, SyncReport
from localcdap.artifacts.service import ArtifactService
from localcdap.sandbox.supervisor import PluginWorker
from localcdap.store.store import Transaction
from localcdap.testing.databases import open_new_store


class CountingInspector:
    """The real worker, which also says what it was asked to inspect."""

    def __init__(self, worker: PluginWorker) -> None:
        self._worker = worker
        self.inspected: list[str] = []

    def inspect(self, path: str, digest: str) -> Inspection:
        self.inspected.append(Path(path).name)
        return self._worker.inspect(path, digest)


class Instance:
    """Directories, store and inspector of an instance, with services opened as often as wanted."""

    def __init__(self, folder: Path, worker: PluginWorker) -> None:
        self.system = folder / "system"
        self.plugins = folder / "plugins"
        self.cache = folder / "cache"
        self.trash = folder / "trash"
        self.plugins.mkdir()
        self.store = open_new_store(folder / "instance.duckdb")
        self.inspector = CountingInspector(worker)

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
def worker() -> Iterator[PluginWorker]:
    worker = PluginWorker(time_limit_s=20, memory_mb=1024)
    yield worker
    worker.close()


@pytest.fixture
def instance(tmp_path: Path, worker: PluginWorker) -> Iterator[Instance]:
    instance = Instance(tmp_path, worker)
    yield instance
    instance.store.close()
