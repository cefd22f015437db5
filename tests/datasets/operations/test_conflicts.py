"""Transactions on datasets beside others, beside commits of runs, and beside changes of the dataset."""

from __future__ import annotations

import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.api.app.table import FieldType, StructuredTableSpecification
from localcdap.api.app.transactions import TransactionKind
from localcdap.api.errors import NotFoundError, TransactionConflictError
from localcdap.api.schema import Schema
from localcdap.datasets.model import DatasetUpdate
from localcdap.store.structured.admin import StructuredTables
from localcdap.store.tables import NamespaceTables
from localcdap.testing.instance import open_new_store

SCHEMA = Schema.record("r", [("id", Schema.STRING), ("n", Schema.LONG.as_nullable)])
KEYED = {"schema": str(SCHEMA), "schema.row.field": "id"}


@pytest.fixture
def table(create):
    return create("table", **KEYED)


def write(transactions, **values):
    rows = [{"id": key, "n": n} for key, n in values.items()]
    transactions.run(lambda tx: tx.dataset("data").write_all(rows))


def read(transactions):
    return transactions.run(lambda tx: {r["id"]: r["n"] for r in tx.dataset("data").scan()})


def test_increments_of_many_threads_add_up(transactions, table):
    def increment():
        for _ in range(10):
            transactions.run(lambda tx: tx.dataset("data").increment("a", "n", 1))

    threads = [threading.Thread(target=increment) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert read(transactions) == {"a": 40}


def test_a_key_that_another_transaction_wrote_is_a_conflict(cdap, transactions, table):
    write(transactions, a=1, b=1)
    attempts = []

    def double(tx):
        attempts.append(1)
        found = tx.dataset("data").get("a")["n"]
        if len(attempts) == 1:
            write(transactions_in_other_thread, a=5)
        tx.dataset("data").put("a", {"n": found * 2})

    transactions_in_other_thread = InThread(transactions)
    transactions.run(double)
    assert (len(attempts), read(transactions)) == (2, {"a": 10, "b": 1})


def test_other_keys_are_no_conflict(transactions, table):
    attempts = []

    def change(tx):
        attempts.append(1)
        tx.dataset("data").increment("a", "n", 1)
        write(InThread(transactions), b=2)

    transactions.run(change)
    assert (len(attempts), read(transactions)) == (1, {"a": 1, "b": 2})


def test_appended_rows_are_no_conflict(transactions, create):
    create("table", schema=str(SCHEMA))
    attempts = []

    def append(tx):
        attempts.append(1)
        tx.dataset("data").write({"id": "a"})
        write(InThread(transactions), b=2)

    transactions.run(append)
    assert len(attempts) == 1
    assert transactions.run(lambda tx: tx.dataset("data").count()) == 2


def test_a_scan_conflicts_with_rows_added_meanwhile(transactions, table):
    attempts = []

    def copy_count(tx):
        attempts.append(1)
        count = tx.dataset("data").count()
        if len(attempts) == 1:
            write(InThread(transactions), b=2)
        tx.dataset("data").write({"id": "count", "n": count})

    transactions.run(copy_count)
    assert (len(attempts), read(transactions)) == (2, {"b": 2, "count": 1})


def test_a_long_transaction_ignores_what_it_only_read(transactions, table):
    attempts = []

    def copy_count(tx):
        attempts.append(1)
        tx.dataset("data").count()
        write(InThread(transactions), b=2)
        tx.dataset("data").write({"id": "a"})

    transactions.run(copy_count, kind=TransactionKind.LONG)
    assert len(attempts) == 1


class InThread:
    """Runs transactions in another thread: they cannot be nested."""

    def __init__(self, transactions):
        self.transactions = transactions

    def run(self, body):
        result = []
        thread = threading.Thread(target=lambda: result.append(self.transactions.run(body)))
        thread.start()
        thread.join(60)
        return result[0]


@pytest.fixture
def store(tmp_path):
    with open_new_store(tmp_path / "x.duckdb") as store:
        yield store


def test_the_commit_of_a_run_neither_waits_nor_fails(cdap, transactions, table, tmp_path):
    """A run replaces rows while a transaction has changed them; the transaction is tried again."""
    write(transactions, a=1)
    attempts = []

    def change(tx):
        attempts.append(1)
        data = tx.dataset("data")
        data.put("a", {"n": data.get("a")["n"] + 1})
        data.write({"id": "new", "n": len(attempts)})
        if len(attempts) == 1:
            commit_run(cdap, tmp_path, a=100, new=100)

    transactions.run(change)
    assert read(transactions) == {"a": 101, "new": 2}
    assert len(attempts) == 2
    assert cdap.tables.read_rows("default", "data", 9).rows == [["a", 101], ["new", 2]]


def commit_run(cdap, folder, **values):
    """Write rows as the commit of a run does."""
    file = folder / "rows.parquet"
    ids = pa.array(list(values), pa.string())
    pq.write_table(pa.table({"id": ids, "n": pa.array(list(values.values()), pa.int64())}), file)
    store = cdap.transaction_service._tables._store
    with store.transaction() as tx:
        NamespaceTables(store).upsert_parquet(tx, "default", "data", SCHEMA, "id", [file])


def test_an_update_of_the_dataset_is_a_conflict(cdap, transactions, table):
    wider = Schema.record(
        "r", [*((f.name, f.schema) for f in SCHEMA), ("x", Schema.LONG.as_nullable)]
    )
    columns = []

    def change(tx):
        data = tx.dataset("data")
        data.write({"id": "a"})
        columns.append(data.schema.field_names)
        if len(columns) == 1:
            cdap.datasets.update(DatasetUpdate("data", {"schema": str(wider)}, replaces=False))

    transactions.run(change)
    assert columns == [["id", "n"], ["id", "n", "x"]]
    assert cdap.tables.read_rows("default", "data", 9).rows == [["a", None, None]]


@pytest.mark.parametrize("removal", ["truncate", "drop"])
def test_a_dataset_that_is_emptied_or_removed_meanwhile(cdap, transactions, table, removal):
    write(transactions, a=1)
    attempts = []

    def change(tx):
        attempts.append(1)
        tx.dataset("data").increment("a", "n", 1)
        if len(attempts) == 1:
            getattr(cdap.datasets, removal)("default", "data")

    if removal == "drop":
        with pytest.raises(NotFoundError, match="no dataset 'data'"):
            transactions.run(change)
    else:
        transactions.run(change)
        assert read(transactions) == {"a": 1}
    assert len(attempts) == 2


def test_structured_tables_and_datasets_commit_together(cdap, transactions, table):
    notes = StructuredTableSpecification(
        "notes", fields={"id": FieldType.STRING}, primary_key=["id"]
    )
    cdap.structured_tables.create_or_update(notes)

    def change(tx, *, fails):
        tx.table("notes").upsert({"id": "a"})
        tx.dataset("data").write({"id": "a"})
        if fails:
            raise ZeroDivisionError

    def look(tx):
        return tx.table("notes").count(), tx.dataset("data").count()

    with pytest.raises(ZeroDivisionError):
        transactions.run(lambda tx: change(tx, fails=True))
    assert transactions.run(look) == (0, 0)
    transactions.run(lambda tx: change(tx, fails=False))
    assert transactions.run(look) == (1, 1)
    cdap.structured_tables.drop("notes")


def test_no_datasets_without_their_service(store):
    tables = StructuredTables(store)
    with pytest.raises(Exception, match="Dataset 'data' cannot be opened here"):
        tables.transactions.run(lambda tx: tx.dataset("data"))
    tables.close()


def test_conflicts_that_never_end(transactions, table):
    def change(tx):
        tx.dataset("data").increment("a", "n", 1)
        write(InThread(transactions), a=0)

    with pytest.raises(TransactionConflictError, match="conflicted with others in all"):
        transactions.run(change, timeout_s=1.0)
