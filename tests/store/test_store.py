"""The database file: opening, migrations, transactions, threads, crashes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from localcdap.api.errors import ConflictError, StoreError
from localcdap.store.migration import SHIPPED, read_migrations
from localcdap.store.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made" / "on demand" / "localcdap.duckdb"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as store:
        with store.transaction() as tx:
            tx.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, text VARCHAR)")
        yield store


def ids(store: Store) -> list[int]:
    return [row[0] for row in store.read("SELECT id FROM items ORDER BY id")]


# -- transactions ---------------------------------------------------------------------------


def test_a_transaction_commits_at_the_end_of_its_block(store: Store, path: Path):
    with store.transaction() as tx:
        tx.execute("INSERT INTO items VALUES (?, ?)", (1, "a"))
        tx.execute_many("INSERT INTO items VALUES (?, ?)", [(2, "b"), (3, None)])
        tx.execute_many("INSERT INTO items VALUES (?, ?)", [])
        assert tx.execute("SELECT count(*) FROM items") == [(3,)]
        assert ids(store) == []
    assert ids(store) == [1, 2, 3]
    store.close()

    with Store(path) as again:
        assert again.read("SELECT text FROM items ORDER BY id") == [("a",), ("b",), (None,)]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_raises_leaves_nothing(store: Store, error: type[BaseException]):
    def write() -> None:
        with store.transaction() as tx:
            tx.execute("INSERT INTO items VALUES (1, 'a')")
            raise error

    with pytest.raises(error):
        write()
    assert ids(store) == []
    with store.transaction() as tx:
        tx.execute("INSERT INTO items VALUES (1, 'a')")
    assert ids(store) == [1]


def test_a_failed_statement_cannot_be_committed_around(store: Store):
    def write() -> None:
        with store.transaction() as tx:
            tx.execute("INSERT INTO items VALUES (1, 'a')")
            with pytest.raises(ConflictError, match="(?i)primary key"):
                tx.execute("INSERT INTO items VALUES (1, 'b')")

    with pytest.raises(StoreError, match="Nothing of this transaction was kept.*primary|PRIMARY"):
        write()
    assert ids(store) == []


def test_a_transaction_inside_another_is_refused(store: Store):
    with store.transaction() as tx:
        tx.execute("INSERT INTO items VALUES (1, 'a')")
        with pytest.raises(StoreError, match="transaction open already"), store.transaction():
            pass
    assert ids(store) == [1]


def test_each_of_separate_reads_sees_what_is_committed_when_it_starts(store: Store):
    with store.separate_reads() as reads:
        assert reads.execute("SELECT count(*) FROM items") == [(0,)]
        with store.transaction() as tx:
            tx.execute("INSERT INTO items VALUES (1, 'a')")
        assert reads.execute("SELECT count(*) FROM items") == [(1,)]


def test_a_snapshot_sees_one_state_and_cannot_write(store: Store):
    with store.snapshot() as before:
        assert before.execute("SELECT count(*) FROM items") == [(0,)]
        with store.transaction() as tx:
            tx.execute("INSERT INTO items VALUES (1, 'a')")
        assert before.execute("SELECT count(*) FROM items") == [(0,)]
    assert ids(store) == [1]
    with pytest.raises(StoreError, match="read-only"), store.snapshot() as tx:
        tx.execute("DELETE FROM items")


def test_wrong_sql_is_a_store_error(store: Store):
    with pytest.raises(StoreError, match="Table with name nowhere does not exist"):
        store.read("SELECT * FROM nowhere")
    assert ids(store) == []


def test_threads_that_write_take_turns_and_lose_nothing(store: Store):
    with store.transaction() as tx:
        tx.execute("INSERT INTO items VALUES (0, '0')")

    def work(number: int) -> None:
        for i in range(20):
            with store.transaction() as tx:
                tx.execute("INSERT INTO items VALUES (?, '')", (number * 100 + i + 1,))
                tx.execute("UPDATE items SET text = (text::INT + 1)::VARCHAR WHERE id = 0")
            assert number * 100 + i + 1 in ids(store)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))

    assert len(ids(store)) == 161
    assert store.read("SELECT text FROM items WHERE id = 0") == [("160",)]


# -- closing --------------------------------------------------------------------------------


def test_a_closed_store_has_one_file_and_refuses_use(store: Store, path: Path):
    with store.transaction() as tx:
        tx.execute("INSERT INTO items VALUES (1, 'a')")
    store.close()
    store.close()

    assert [p.name for p in path.parent.iterdir()] == [path.name]
    for use in (lambda: store.read("SELECT 1"), lambda: store.transaction().__enter__()):
        with pytest.raises(StoreError, match="is closed"):
            use()


def test_closing_waits_for_the_transaction_of_another_thread(store: Store, path: Path):
    begun, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with store.transaction() as tx:
            tx.execute("INSERT INTO items VALUES (1, 'a')")
            begun.set()
            go_on.wait(60)

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(60)
    threading.Timer(0.2, go_on.set).start()
    store.close()
    writer.join()

    with Store(path) as again:
        assert ids(again) == [1]


# -- other processes and crashes ------------------------------------------------------------

WRITER = """
import sys, time
from pathlib import Path
from localcdap.store.store import Store
store = Store(Path(sys.argv[1]))
with store.transaction() as tx:
    tx.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, text VARCHAR)")
    tx.execute("INSERT INTO items SELECT i, 'kept' FROM range(1000) r(i)")
with store.transaction() as tx:
    tx.execute("INSERT INTO items SELECT i, 'lost' FROM range(1000, 200000) r(i)")
    tx.execute("UPDATE items SET text = 'lost'")
    print("in the middle", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def writer(path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "in the middle\n"
    yield process
    process.kill()
    process.communicate()


def test_a_process_killed_in_a_transaction_leaves_what_it_committed(
    writer: subprocess.Popen[str], path: Path
):
    writer.send_signal(signal.SIGKILL)
    writer.wait()

    with Store(path) as store:
        assert store.read("SELECT text, count(*) FROM items GROUP BY text") == [("kept", 1000)]


def test_a_database_in_use_names_its_process(writer: subprocess.Popen[str], path: Path):
    with pytest.raises(StoreError, match=f"in use by process {writer.pid}") as caught:
        Store(path)

    assert f"end process {writer.pid}" in caught.value.corrective_action


# -- files that are not ours ----------------------------------------------------------------


def assert_refused_and_untouched(path: Path, message: str, action: str = "doctor --repair") -> None:
    before = {p: p.read_bytes() for p in path.parent.iterdir()}
    with pytest.raises(StoreError, match=message) as caught:
        Store(path)
    assert action in caught.value.corrective_action
    assert {p: p.read_bytes() for p in path.parent.iterdir()} == before


@pytest.mark.parametrize("content", [b"hi", b"hello, world\n" * 5000])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes):
    (tmp_path / "x.duckdb").write_bytes(content)

    assert_refused_and_untouched(tmp_path / "x.duckdb", "not a DuckDB file, or is damaged")


def test_a_database_of_another_kind_is_left_alone(tmp_path: Path):
    other = sqlite3.connect(tmp_path / "x.duckdb")
    other.execute("CREATE TABLE t (a)")
    other.commit()
    other.close()

    assert_refused_and_untouched(tmp_path / "x.duckdb", "not a DuckDB file")


def test_a_database_of_another_program_is_left_alone(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "x.duckdb")) as other:
        other.execute("CREATE TABLE theirs (a INTEGER)")

    assert_refused_and_untouched(
        tmp_path / "x.duckdb", r"not a database of localcdap \(it has the table theirs\)", "restore"
    )


def test_a_damaged_database_is_left_alone(store: Store, path: Path):
    with store.transaction() as tx:
        tx.execute("INSERT INTO items SELECT i, 'some text ' || i FROM range(50000) r(i)")
    store.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(8192))

    assert_refused_and_untouched(path, "is damaged: Corrupt")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match=r"file/x\.duckdb cannot be used"):
        Store(tmp_path / "file" / "x.duckdb")


# -- migrations -----------------------------------------------------------------------------


@pytest.fixture
def migrations(tmp_path: Path) -> Path:
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / "0001_first.sql").write_text(
        "CREATE TABLE one (a INTEGER); INSERT INTO one VALUES (1);"
    )
    (folder / "0100_second.sql").write_text(
        "ALTER TABLE one ADD COLUMN b INTEGER; UPDATE one SET b = 2"
    )
    return folder


def test_migrations_are_applied_once_in_order(path: Path, migrations: Path):
    for _ in range(2):
        with Store(path, migrations) as store:
            assert store.read("SELECT * FROM one") == [(1, 2)]
    (migrations / "0050_between.sql").write_text("INSERT INTO one VALUES (5, 5)")

    with Store(path, migrations) as store:
        assert store.read("SELECT * FROM one") == [(1, 2), (5, 5)]
        names = store.read("SELECT name FROM localcdap_migrations ORDER BY number")
        assert names == [("0001_first",), ("0050_between",), ("0100_second",)]


def test_a_migration_that_fails_takes_no_effect(path: Path, migrations: Path):
    third = migrations / "0200_third.sql"
    third.write_text("INSERT INTO one VALUES (7, 7); SELECT broken;")
    with pytest.raises(StoreError, match=r"Migration 0200_third .* failed: .*broken"):
        Store(path, migrations)
    third.write_text("INSERT INTO one VALUES (8, 8)")

    with Store(path, migrations) as store:
        assert store.read("SELECT a FROM one ORDER BY a") == [(1,), (8,)]


def test_a_database_of_a_newer_version_is_refused(path: Path, migrations: Path):
    Store(path, migrations).close()
    (migrations / "0100_second.sql").unlink()

    with pytest.raises(StoreError, match=r"made by a newer localcdap \(it has 0100_second\)") as e:
        Store(path, migrations)
    assert "Upgrade" in e.value.corrective_action


def test_a_migration_that_was_changed_is_refused(path: Path, migrations: Path):
    Store(path, migrations).close()
    (migrations / "0001_first.sql").write_text("CREATE TABLE uno (a INTEGER)")

    with pytest.raises(StoreError, match="different version of migration 0001_first"):
        Store(path, migrations)


@pytest.mark.parametrize(
    ("name", "message"), [("1_x.sql", "must be called"), ("0001_again.sql", "have the same number")]
)
def test_migrations_with_wrong_names_are_refused(migrations: Path, name: str, message: str):
    (migrations / name).write_text("SELECT 1")

    with pytest.raises(StoreError, match=message):
        read_migrations(migrations)


def test_the_shipped_migrations_fit_together(path: Path):
    with Store(path) as store:
        names = {row[0] for row in store.read("SELECT name FROM localcdap_migrations")}

    assert {file.stem for file in SHIPPED.glob("*.sql")} == names
    assert "0001_dataset_tables" in names
    shutil.rmtree(path.parent)


def test_duckdb_is_not_loaded_before_it_is_needed():
    code = (
        "import sys, localcdap.store.store, localcdap.store.tables\n"
        "print([m for m in ('duckdb', 'pyarrow', 'pyspark') if m in sys.modules])"
    )

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_united_transactions_commit_together(store: Store) -> None:
    with store.transaction() as tx:
        tx.execute("CREATE TABLE united (x INTEGER)")
    done: list[str] = []

    with store.unite():
        for number in (1, 2):
            with store.transaction() as tx:
                tx.execute("INSERT INTO united VALUES (?)", (number,))
                tx.on_commit(lambda: done.append("committed"))
        assert store.read("SELECT count(*) FROM united") == [(2,)]
        with store.snapshot() as tx:
            assert tx.execute("SELECT count(*) FROM united") == [(2,)]
        assert done == []
        with ThreadPoolExecutor(1) as other:  # another thread sees nothing of it
            assert other.submit(store.read, "SELECT count(*) FROM united").result() == [(0,)]

    assert done == ["committed"] * 2
    assert store.read("SELECT count(*) FROM united") == [(2,)]


def test_an_error_in_one_of_united_transactions_rolls_all_back_also_when_it_is_caught(
    store: Store,
) -> None:
    with store.transaction() as tx:
        tx.execute("CREATE TABLE united (x INTEGER)")

    def write() -> None:
        with store.unite():
            with store.transaction() as tx:
                tx.execute("INSERT INTO united VALUES (1)")
            with contextlib.suppress(ConflictError), store.transaction():
                raise ConflictError("no")

    with pytest.raises(StoreError, match="rolled back"):
        write()

    assert store.read("SELECT count(*) FROM united") == [(0,)]
    with store.transaction() as tx:  # later transactions are separate again
        tx.execute("INSERT INTO united VALUES (2)")
    assert store.read("SELECT count(*) FROM united") == [(1,)]


def test_a_store_whose_folder_was_replaced_leaves_the_new_database_alone(tmp_path: Path):
    path = tmp_path / "instance" / "x.duckdb"
    fill = "create table t as select range as n from range(20)"
    program = (
        "import os, sys; from pathlib import Path; from localcdap.store.store import Store\n"
        "store = Store(Path(sys.argv[1]))\n"
        f"with store.transaction() as tx: tx.execute({fill!r})\n"
        "os._exit(0)"  # as after kill -9: what was committed is in the log
    )
    old = Store(path)
    try:
        with old.transaction() as tx:
            tx.execute("create table old (n integer)")
        shutil.rmtree(path.parent)
        for _ in range(2):  # there is nothing, and then there is another database
            with (
                pytest.raises(StoreError, match="was removed or replaced"),
                old.transaction() as tx,
            ):
                tx.execute("insert into old values (1)")
            old.write_checkpoint()
            if not path.exists():
                subprocess.run([sys.executable, "-c", program, str(path)], check=True)
        assert old.read("select count(*) from old") == [(0,)]
    finally:
        old.close()
    with Store(path) as new:
        assert new.read("select count(*) from t") == [(20,)]
