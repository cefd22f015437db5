from __future__ import annotations

import os
import shutil
import threading
import time

import duckdb
import pytest

from localcdap.api.errors import NotFoundError, StoreError
from localcdap.store.backup import (
    BackupReason,
    check_database,
    copy_database,
    restore_database,
)
from localcdap.store.commit_record import get_log_path
from localcdap.store.store import Store


@pytest.fixture
def migrations(tmp_path):
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / "0001_first.sql").write_text(
        "CREATE TABLE first (id INTEGER PRIMARY KEY, word VARCHAR NOT NULL);"
        "CREATE INDEX by_word ON first (word);"
        "CREATE TABLE second (id INTEGER)"
    )
    return folder


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "localcdap.duckdb"


def fill(store, count=10):
    with store.transaction() as tx:
        tx.execute("INSERT INTO first SELECT i, sha256(i::VARCHAR) FROM range(?) r(i)", (count,))
        tx.execute("INSERT INTO second SELECT i FROM range(?) r(i)", (count,))


def rows(path, table="first"):
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_a_backup_holds_rows_constraints_and_indexes(path, migrations, tmp_path):
    with Store(path, migrations) as store:
        fill(store)
        made = store.back_up(tmp_path / "deep" / "copy.duckdb")

    check_database(tmp_path / "deep" / "copy.duckdb", migrations)
    assert made.bytes == (tmp_path / "deep" / "copy.duckdb").stat().st_size
    with duckdb.connect(made.file) as copy:
        assert copy.execute("SELECT index_name FROM duckdb_indexes()").fetchall() == [("by_word",)]
        with pytest.raises(duckdb.ConstraintException):
            copy.execute("INSERT INTO first VALUES (1, 'again')")


def test_a_backup_is_made_while_others_write(path, migrations, tmp_path):
    with Store(path, migrations) as store:
        stop = threading.Event()

        def write():
            number = 0
            while not stop.is_set():
                with store.transaction() as tx:
                    tx.execute("INSERT INTO first VALUES (?, 'w')", (number,))
                    tx.execute("INSERT INTO second VALUES (?)", (number,))
                number += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(5):
                store.back_up(tmp_path / f"{number}.duckdb")
        finally:
            stop.set()
            writer.join()

    for number in range(5):
        copy = tmp_path / f"{number}.duckdb"
        assert rows(copy, "first") == rows(copy, "second")


def test_a_backup_replaces_nothing(path, migrations, tmp_path):
    taken = tmp_path / "taken.duckdb"
    taken.write_text("mine")
    with Store(path, migrations) as store, pytest.raises(StoreError, match="exists already"):
        store.back_up(taken)

    assert taken.read_text() == "mine"


def test_a_backup_that_cannot_be_written_leaves_nothing(path, migrations, tmp_path):
    place = tmp_path / "file"
    place.write_text("no folder")
    with Store(path, migrations) as store:
        with pytest.raises(StoreError, match="cannot be written"):
            store.back_up(place / "copy.duckdb")
        with store.snapshot() as tx:  # nothing stays attached
            assert tx.execute("SELECT count(*) FROM duckdb_databases() WHERE NOT internal") == [
                (1,)
            ]


def test_a_backup_is_made_before_a_migration_of_a_database_in_use(path, migrations, tmp_path):
    backups = tmp_path / "backups"
    with Store(path, migrations, backups) as store:
        fill(store)
    assert not backups.exists()

    (migrations / "0002_next.sql").write_text("DROP TABLE first")
    with Store(path, migrations, backups):
        pass

    (copy,) = backups.iterdir()
    assert copy.name.startswith("before-migration-")
    assert rows(copy) == 10
    with Store(path, migrations, backups):
        assert len(list(backups.iterdir())) == 1


def test_a_backup_is_made_daily_of_a_database_that_is_older(path, tmp_path):
    backups = tmp_path / "backups"
    with Store(path, backups=backups) as store:
        store.back_up_daily()
        assert not backups.exists()  # it is new
        with store.transaction() as tx:
            tx.execute("UPDATE localcdap_migrations SET applied = applied - INTERVAL 25 HOURS")
        store.back_up_daily()
        store.back_up_daily()
        (made,) = backups.iterdir()
        assert made.name.startswith("daily-")
        (backups / "damaged-1.duckdb").write_bytes(b"")  # it does not count
        old = time.time() - 25 * 3600
        os.utime(made, (old, old))
        store.back_up_daily()
    assert len(list(backups.glob("daily-*"))) == 2


def test_no_backup_fills_a_disk(path, tmp_path, monkeypatch):
    with Store(path, backups=tmp_path / "backups") as store:
        size = get_log_path(path).stat().st_size
        usage = shutil.disk_usage(tmp_path)._replace(free=2 * size - 1)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
        store.back_up_before(BackupReason.DELETION)
    assert not (tmp_path / "backups").exists()


def test_few_backups_of_migrations_are_kept(path, migrations, tmp_path):
    backups = tmp_path / "backups"
    for number in range(2, 10):
        with Store(path, migrations, backups) as store:
            store.back_up(backups / f"mine-{number}.duckdb")
        (migrations / f"{number:04}_more.sql").write_text(f"CREATE TABLE t{number} (a INTEGER)")
    with Store(path, migrations, backups):
        names = sorted(each.name for each in backups.iterdir())

    assert len([name for name in names if name.startswith("before-migration-")]) == 5
    assert len([name for name in names if name.startswith("mine-")]) == 8


def test_a_restored_backup_keeps_what_was_there(path, migrations, tmp_path):
    with Store(path, migrations) as store:
        store.back_up(tmp_path / "empty.duckdb")
        fill(store)
    migrated = Store(path, migrations)
    migrated.close()

    with pytest.raises(StoreError):  # the shipped migrations do not know it
        restore_database(tmp_path / "empty.duckdb", path, tmp_path / "kept.duckdb")
    assert rows(path) == 10

    done = restore_database(
        tmp_path / "empty.duckdb", path, tmp_path / "kept.duckdb", migrations=migrations
    )

    assert rows(path) == 0
    assert done.kept is not None
    assert rows(done.kept) == 10


def test_garbage_is_no_backup(path, migrations, tmp_path):
    with Store(path, migrations) as store:
        fill(store)
    foreign = tmp_path / "foreign.duckdb"
    with duckdb.connect(str(foreign)) as connection:
        connection.execute("CREATE TABLE mine (a INTEGER)")
    empty = tmp_path / "empty.duckdb"
    empty.touch()

    for bad in (foreign, empty):
        with pytest.raises(StoreError):
            restore_database(bad, path, tmp_path / "kept.duckdb", migrations=migrations)
        assert bad.exists()
    with pytest.raises(NotFoundError):
        restore_database(tmp_path / "no", path, tmp_path / "kept.duckdb", migrations=migrations)
    assert rows(path) == 10
    assert sorted(each.name for each in path.parent.iterdir()) == ["localcdap.duckdb"]


def test_a_copy_of_a_connection_is_complete(tmp_path):
    with duckdb.connect(str(tmp_path / "odd name's.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        copy_database(connection, tmp_path / "it's a copy.duckdb")

    assert rows(tmp_path / "it's a copy.duckdb", "t") == 1
