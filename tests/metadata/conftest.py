from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.store.store import Store
from localcdap.testing.instance import open_new_store
from tests.metadata.catalog import Catalog


@pytest.fixture(scope="module")
def module_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_new_store(tmp_path_factory.mktemp("metadata") / "metadata.duckdb") as store:
        yield store


@pytest.fixture
def catalog(module_store: Store) -> Iterator[Catalog]:
    """A store of metadata, which is empty before and after the test (F33)."""
    made = Catalog(module_store)
    assert made.search("*", show_hidden=True, sort="entity-name").results == []
    yield made
    made.clear()
    assert made.search("*", show_hidden=True, sort="entity-name").results == []


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_new_store(tmp_path / "metadata.duckdb") as store:
        yield store
