"""A database with empty tables of lineage; the tests of a module share the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.metadata.lineage.store import LineageStore
from localcdap.store.store import Store
from localcdap.testing.instance import open_new_store
from tests.metadata.lineage.run_ids import Runs

TABLES = (
    "lineage_relations",
    "lineage_operations",
    "lineage_end_points",
    "lineage_destination_fields",
    "lineage_field_summaries",
    "lineage_column_edges",
    "lineage_places",
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path: Path = tmp_path_factory.mktemp("lineage") / "x.duckdb"
    with open_new_store(path) as store:
        yield store


@pytest.fixture
def store(database: Store) -> Iterator[Store]:
    yield database
    with database.transaction() as tx:
        for table in TABLES:
            tx.execute(f"DELETE FROM {table}")


@pytest.fixture
def runs() -> Runs:
    return Runs()


@pytest.fixture
def schemas() -> dict:
    """The fields of datasets' current schemas."""
    return {}


@pytest.fixture
def lineage(store: Store, runs: Runs, schemas: dict) -> LineageStore:
    return LineageStore(store, runs, lambda dataset: schemas.get(dataset, []))
