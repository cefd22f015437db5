from __future__ import annotations

import shutil

import pytest

from localcdap.api.errors import ConflictError, StoreError
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.host.host import Host
from localcdap.host.maintenance import repair, restore
from localcdap.rpc.client import Client
from localcdap.rpc.host_lock import connect_or_become_host
from localcdap.store.commit_record import get_log_path
from localcdap.store.store import Store
from localcdap.version import VERSION
from tests.datasets.test_modules import write_types


@pytest.fixture
def home(tmp_path):
    """An instance with a database that a process left without closing it."""
    home = Home(tmp_path / "home")
    store = Store(home.database)
    with store.transaction() as tx:
        tx.execute(
            "INSERT INTO dataset_tables VALUES ('default', 't', '{}', NULL, now(), NULL, NULL)"
        )
    store.close()
    return home


def tables(home):
    with Store(home.database) as store:
        return store.read("SELECT name FROM dataset_tables")


def add_log(home):
    """Leave a write-ahead log behind, as a killed process does."""
    copy = home.path / "copy"
    store = Store(home.database)
    with store.transaction() as tx:
        tx.execute(
            "INSERT INTO dataset_tables VALUES ('default', 'late', '{}', NULL, now(), NULL, NULL)"
        )
    shutil.copy(get_log_path(home.database), copy)
    shutil.copy(home.database, home.path / "main")
    store.close()
    shutil.move(copy, get_log_path(home.database))
    shutil.move(home.path / "main", home.database)


def test_a_good_database_is_not_repaired(home):
    before = home.database.read_bytes()

    assert repair(home) == []
    assert home.database.read_bytes() == before


def test_an_instance_without_a_database_has_nothing_to_repair(tmp_path):
    assert repair(Home(tmp_path / "new")) == []


def test_a_log_that_a_killed_process_left_is_no_damage(home):
    add_log(home)

    assert repair(home) == []
    assert tables(home) == [("t",), ("late",)]


def test_a_damaged_log_is_set_aside(home):
    add_log(home)
    log = get_log_path(home.database)
    content = log.read_bytes()
    middle = len(content) // 2
    log.write_bytes(content[:middle] + b"\xff" * 8 + content[middle + 8 :])

    steps = repair(home)

    assert "write-ahead log" in steps[1]
    assert tables(home) == [("t",)]
    assert [each.suffix for each in home.backups.iterdir()] == [".wal"]


def test_the_newest_good_backup_takes_the_place_of_a_lost_database(home):
    with Store(home.database) as store:
        store.back_up(home.backups / "old.duckdb")
    (home.backups / "newer.duckdb").write_bytes(b"no good")
    home.database.write_bytes(b"\xff" * 5000)

    steps = repair(home)

    assert "old.duckdb" in steps[1]
    assert tables(home) == [("t",)]
    assert len(list(home.backups.glob("damaged-*.duckdb"))) == 1


def test_without_a_backup_the_next_start_makes_a_new_database(home):
    home.database.write_bytes(b"\xff" * 5000)

    steps = repair(home)

    assert "new database" in steps[-1]
    assert tables(home) == []
    (kept,) = home.backups.iterdir()
    assert kept.read_bytes() == b"\xff" * 5000


def test_a_database_of_a_newer_version_is_not_damaged(home):
    with Store(home.database) as store, store.transaction() as tx:
        tx.execute("INSERT INTO localcdap_migrations VALUES (9999, '9999_new', 'x', now())")
    before = home.database.read_bytes()

    with pytest.raises(StoreError, match="newer localcdap"):
        repair(home)
    assert home.database.read_bytes() == before


@pytest.mark.slow
def test_an_instance_in_use_is_left_alone(home, tmp_path):
    with open_in_process(home) as cdap:
        backup = cdap.database.back_up(str(tmp_path / "copy.duckdb"))
        with pytest.raises(ConflictError, match="uses the instance"):
            restore(home, tmp_path / "copy.duckdb")
        with pytest.raises(ConflictError, match="uses the instance"):
            repair(home)

    done = restore(home, tmp_path / "copy.duckdb")

    assert done.kept is not None
    assert backup.bytes > 0
    assert tables(home) == [("t",)]


def test_a_deleted_namespace_comes_back_with_the_backup_that_was_made_before(home):
    with open_in_process(home) as cdap:
        cdap.namespaces.create("orders")
        cdap.namespaces.delete("orders")
    (backup,) = home.backups.iterdir()
    assert backup.name.startswith("before-deletion-")

    restore(home, backup)

    with open_in_process(home) as cdap:
        assert [each.name for each in cdap.namespaces.list_namespaces()] == ["default", "orders"]


def add_newer_backup(home):
    """Make a backup that has a migration which this version does not know."""
    with Store(home.database) as store:
        with store.transaction() as tx:
            tx.execute("INSERT INTO localcdap_migrations VALUES (9999, '9999_new', 'x', now())")
        store.back_up(home.backups / "newer.duckdb")
        with store.transaction() as tx:
            tx.execute("DELETE FROM localcdap_migrations WHERE number = 9999")


def test_a_backup_of_a_newer_version_is_refused_with_the_migrations_that_are_missing(home):
    add_newer_backup(home)
    backup = home.backups / "newer.duckdb"

    with pytest.raises(StoreError, match="made by a newer localcdap .it has 9999_new"):
        restore(home, backup)
    assert tables(home) == [("t",)]

    shutil.copy(backup, home.database)
    with (
        pytest.raises(StoreError, match="made by a newer localcdap .it has 9999_new"),
        open_in_process(home),
    ):
        pass


def test_a_repair_gives_nothing_up_for_which_a_newer_version_has_a_backup(home):
    add_newer_backup(home)
    home.database.write_bytes(b"\xff" * 5000)

    with pytest.raises(StoreError, match=r"newer.duckdb was made by .* .it has 9999_new"):
        repair(home)
    assert home.database.read_bytes() == b"\xff" * 5000

    with Store(home.path / "other.duckdb") as store:
        store.back_up(home.backups / "old.duckdb")
    steps = repair(home)
    assert "old.duckdb" in steps[1]
    assert steps[-1].startswith("A backup was left out: ")
    assert "9999_new" in steps[-1]


def test_a_restore_keeps_the_database_that_it_replaces(home):
    with Store(home.database) as store:
        store.back_up(home.backups / "old.duckdb")
        with store.transaction() as tx:
            tx.execute("DELETE FROM dataset_tables")

    restore(home, home.backups / "old.duckdb")

    assert tables(home) == [("t",)]
    (kept,) = home.backups.glob("before-restore-*.duckdb")
    restore(home, kept)
    assert tables(home) == []


def test_a_backup_is_made_before_a_module_is_forced(home, tmp_path):
    module = tmp_path / "types-1.0.0.py"
    module.write_text(write_types("one"))
    with open_in_process(home) as cdap:
        cdap.dataset_modules.add("default", str(module))
        assert not home.backups.exists()
        cdap.dataset_modules.add("default", str(module), force=True)
    (backup,) = home.backups.iterdir()
    assert backup.name.startswith("before-force-")


def test_a_daily_backup_waits_until_the_instance_is_idle(home, monkeypatch):
    with Store(home.database) as store, store.transaction() as tx:
        tx.execute("UPDATE localcdap_migrations SET applied = applied - INTERVAL 25 HOURS")
    end = connect_or_become_host(home.path, VERSION)
    assert not isinstance(end, Client)
    host = Host(home, end)
    try:
        with monkeypatch.context() as busy:
            busy.setattr(host._services.previews, "are_active", lambda: True)
            host.back_up_daily()
            assert not home.backups.exists()
        host.back_up_daily()
        host.back_up_daily()
    finally:
        host.close()
    (backup,) = home.backups.iterdir()
    assert backup.name.startswith("daily-")
