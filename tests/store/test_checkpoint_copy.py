"""A checkpoint that a kill leaves half written costs nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from localcdap.api.errors import DamagedStoreError
from localcdap.store.commit_log import keep_copy
from localcdap.store.commit_record import get_log_path
from localcdap.store.store import Store

ROWS = [(number,) for number in range(1000)]


def fill(path: Path) -> None:
    with Store(path) as store:
        with store.transaction() as tx:
            tx.execute("CREATE TABLE t AS SELECT range::INTEGER AS n FROM range(500)")
        store.write_checkpoint()
        with store.transaction() as tx:
            tx.execute("INSERT INTO t SELECT range + 500 FROM range(500)")
        shutil.copy(path, path.with_name("old"))
        shutil.copy(get_log_path(path), path.with_name("old.wal"))


def leave_copy(path: Path) -> None:
    """As when the process was killed during the checkpoint."""
    shutil.copy(path.with_name("old"), path.with_name(f"{path.name}.checkpoint"))
    shutil.copy(path.with_name("old.wal"), path.with_name(f"{path.name}.checkpoint.wal"))


def tear(path: Path, position: int) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(b"torn" * 1000)


def list_left(path: Path) -> set[str]:
    names = {each.name for each in path.parent.iterdir()}
    return {name for name in names if "checkpoint" in name}


def test_a_torn_block_is_replaced(tmp_path: Path):
    path = tmp_path / "x.duckdb"
    fill(path)
    size = path.stat().st_size
    for position in range(12288 + 8192, size, 262144):
        leave_copy(path)
        tear(path, position)
        with Store(path) as store:
            assert store.read("SELECT n FROM t ORDER BY n") == ROWS, position
            assert not list_left(path)


def test_a_whole_database_keeps_what_came_after_the_copy(tmp_path: Path):
    path = tmp_path / "x.duckdb"
    fill(path)
    with Store(path) as store, store.transaction() as tx:
        tx.execute("DELETE FROM t WHERE n > 9")
    leave_copy(path)

    with Store(path) as store:
        assert store.read("SELECT count(*) FROM t") == [(10,)]
    assert not list_left(path)


def test_without_a_copy_a_torn_block_is_damage(tmp_path: Path):
    path = tmp_path / "x.duckdb"
    fill(path)
    tear(path, 12288 + 8192)

    with pytest.raises(DamagedStoreError):
        Store(path)


def test_the_copy_is_there_only_during_a_checkpoint(tmp_path: Path):
    path = tmp_path / "x.duckdb"
    fill(path)

    with keep_copy(path):
        assert list_left(path) == {"x.duckdb.checkpoint"}
        assert path.with_name("x.duckdb.checkpoint").stat().st_mode & 0o077 == 0
    assert not list_left(path)
