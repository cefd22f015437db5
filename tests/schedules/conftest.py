from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.schedules.bench import DATABASE, Bench


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with all tables, which takes half a second to make."""
    folder = tmp_path_factory.mktemp("migrated")
    Bench(folder).close()
    return folder / DATABASE


@pytest.fixture
def make_bench(tmp_path: Path, migrated: Path) -> Iterator[Callable[..., Bench]]:
    """Makes a bench with the pipeline ``p``."""
    made = []

    def make(**options: bool) -> Bench:
        shutil.copy(migrated, tmp_path)
        bench = Bench(tmp_path, **options)
        bench.deploy("p")
        made.append(bench)
        return bench

    yield make
    for each in made:
        each.close()


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()
