"""A full disk: one clear error, no conflict; reads go on, and writes too when there is space again."""

from __future__ import annotations

import contextlib
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.api.errors import DiskFullError, StoreError
from localcdap.store import commit_log
from localcdap.store.backup import check_database
from localcdap.store.store import Store
from tests.small_disks import fill_disk, mount_small_disk

TEXT = "sha256(i::VARCHAR)"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mount_small_disk(tmp_path / "disk", 8 * 1024) as folder:
        yield folder


@pytest.fixture
def migrations(tmp_path: Path) -> Path:
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / "0001_items.sql").write_text(
        "CREATE TABLE items (id INTEGER PRIMARY KEY, text VARCHAR)"
    )
    return folder


def insert(store: Store, start: int, count: int) -> None:
    with store.transaction() as tx:
        tx.execute(
            f"INSERT INTO items SELECT i, {TEXT} FROM range(?, ?) r(i)", (start, start + count)
        )


def insert_until_full(store: Store, count: int) -> int:
    """Insert rows until that fails; return how many were committed."""
    with contextlib.suppress(DiskFullError):
        for start in range(0, 10_000_000, count):
            insert(store, start, count)
    with pytest.raises(DiskFullError, match="is full"):
        insert(store, start, count)
    return start


def count(store: Store) -> int:
    found: int = store.read("SELECT count(*) FROM items")[0][0]
    return found


@pytest.mark.parametrize("size", [7, 1000, 60_000])
@pytest.mark.parametrize("checkpoint_bytes", [20_000, 16 << 20])
def test_reads_go_on_and_writes_when_there_is_space_again(
    disk: Path, migrations: Path, size: int, checkpoint_bytes: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(commit_log, "_CHECKPOINT_BYTES", checkpoint_bytes)
    path = disk / "x.duckdb"
    with Store(path, migrations) as store:
        filler = fill_disk(disk, 300_000)
        stored = insert_until_full(store, size)

        for _ in range(3):
            assert count(store) == stored
            with pytest.raises(DiskFullError, match="free"):
                insert(store, 1_000_000, 50_000)
        assert {each.name for each in disk.iterdir()} <= {
            "x.duckdb",
            "x.duckdb.wal",
            "x.duckdb.commits",
            "filler",
        }
        filler.unlink()
        insert(store, 1_000_000, 10)
        assert count(store) == stored + 10

    check_database(path, migrations)
    assert {each.name for each in disk.iterdir()} == {"x.duckdb"}


def test_a_store_that_closes_on_a_full_disk_loses_nothing(disk: Path, migrations: Path):
    path = disk / "x.duckdb"
    with Store(path, migrations) as store:
        filler = fill_disk(disk, 300_000)
        stored = insert_until_full(store, 500)

    check_database(path, migrations)
    with Store(
        path, migrations
    ) as store:  # which reads the log, and cannot move it into the database
        assert count(store) == stored
    filler.unlink()
    with Store(path, migrations) as store:
        assert count(store) == stored
    check_database(path, migrations)


def test_after_a_failed_checkpoint_the_file_is_opened_again(
    disk: Path, migrations: Path, monkeypatch: pytest.MonkeyPatch
):
    """The space was there when the store looked, and another process took it."""
    path = disk / "x.duckdb"
    limits = shutil.disk_usage(disk)
    with Store(path, migrations) as store:
        insert(store, 0, 30_000)
        fill_disk(disk)
        monkeypatch.setattr(commit_log, "_CHECKPOINT_BYTES", 1)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: limits)
        with contextlib.suppress(StoreError):
            insert(store, 100_000, 1)

        assert count(store) >= 30_000
        with pytest.raises(DiskFullError):
            insert(store, 200_000, 30_000)
        assert count(store) >= 30_000


def test_a_limit_on_the_size_of_files_is_no_conflict(tmp_path: Path, migrations: Path):
    path = tmp_path / "home" / "x.duckdb"
    with Store(path, migrations) as store:
        insert(store, 0, 10)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 8192, hard))
        try:
            with pytest.raises(DiskFullError, match="File too large"):
                insert(store, 100, 100_000)
            assert count(store) == 10
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        insert(store, 100, 10)


def test_a_backup_says_how_much_it_needs_and_leaves_nothing(disk: Path, migrations: Path):
    with Store(disk / "x.duckdb", migrations) as store:
        insert(store, 0, 50_000)
        store._commits.write_checkpoint(store._root)
        fill_disk(disk, 8192)
        before = sorted(disk.iterdir())

        with pytest.raises(DiskFullError, match=r"8\.2 kB are free, and [0-9.]+ MB are needed"):
            store.back_up(disk / "copy.duckdb")
        assert sorted(disk.iterdir()) == before
        assert count(store) == 50_000
