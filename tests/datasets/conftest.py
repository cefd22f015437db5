"""An instance without processes: its database, messages, namespaces and structured tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.datasets.listeners import create_structured_rows_resource
from localcdap.messaging.listeners import EventDispatcher
from localcdap.messaging.service import MessagingService
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.sandbox.pool import PluginWorker
from localcdap.store.store import Store
from localcdap.store.structured.admin import StructuredTables
from localcdap.testing.instance import open_new_store

from .modules import Modules


class Instance:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.topics = Topics(store)
        self.delivery = EventDispatcher(store, self.topics)
        self.messaging = MessagingService(store, self.topics, self.delivery)
        self.namespaces = NamespaceService(store, self.topics)
        self.tables = StructuredTables(store, self.namespaces.require_generation)
        self.namespaces.register_resource(create_structured_rows_resource(self.tables))


@contextlib.contextmanager
def open_instance(database: Path) -> Iterator[Instance]:
    with open_new_store(database) as store:
        made = Instance(store)
        yield made
        made.topics.close()
        made.delivery.close()
        made.tables.close()


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    with open_instance(tmp_path / "x.duckdb") as instance:
        yield instance


@pytest.fixture(scope="session")
def worker() -> Iterator[PluginWorker]:
    worker = PluginWorker(time_limit_s=60, memory_mb=1024)
    yield worker
    worker.close()


@pytest.fixture
def modules(instance: Instance, tmp_path: Path, worker: PluginWorker) -> Modules:
    return Modules(instance, tmp_path, worker)
