"""A database with its namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.store.store import Store
from localcdap.testing.instance import open_new_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_new_store(tmp_path / "x.duckdb") as store:
        yield store


@pytest.fixture
def topics(store: Store) -> Topics:
    return Topics(store)


@pytest.fixture
def namespaces(store: Store, topics: Topics) -> NamespaceService:
    return NamespaceService(store, topics)
