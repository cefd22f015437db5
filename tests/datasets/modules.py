"""An instance whose datasets may have types of modules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from localcdap.artifacts.service import ArtifactService
from localcdap.datasets.instances import DatasetService
from localcdap.datasets.planner import PipelineDatasets
from localcdap.datasets.types import DatasetTypes
from localcdap.metadata.audit import AuditLog
from localcdap.pipeline.validation.datasets import StageDataset
from localcdap.sandbox.pool import PluginWorker
from localcdap.store import table_catalog

if TYPE_CHECKING:
    from .conftest import Instance


class Modules:
    """An instance with a plugin folder, the datasets of which may have custom types."""

    def __init__(self, instance: Instance, folder: Path, worker: PluginWorker) -> None:
        self.folder = folder / "plugins"
        self.folder.mkdir()
        self.artifacts = ArtifactService(
            instance.store,
            worker,
            system_directory=folder / "system",
            plugin_directories=[self.folder],
            cache=folder / "cache",
        )
        self.root = folder / "filesets"
        self.store = instance.store
        self.instance = instance
        self._audit = AuditLog(instance.topics)
        self.datasets = self.open_datasets(worker)
        types = DatasetTypes(instance.store, self.root, self.artifacts, worker)
        self.planner = PipelineDatasets(instance.store, self.root, types=types)

    def open_datasets(self, worker: PluginWorker) -> DatasetService:
        """Return the service of datasets, which runs the code of types in a worker."""
        given = self.instance
        types = DatasetTypes(given.store, self.root, self.artifacts, worker)
        return DatasetService(
            given.store, given.namespaces, given.topics, self._audit, self.root, types
        )

    def deploy(self, declared: list[StageDataset]) -> list[str]:
        with self.instance.store.transaction() as tx:
            return [each.name for each in self.planner.apply(tx, "default", declared, "a")]

    def drop(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        self.artifacts.sync()

    def list_tables(self) -> list[str]:
        with self.instance.store.snapshot() as tx:
            return sorted(table_catalog.list_names(tx, "default"))
