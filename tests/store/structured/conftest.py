"""A table admin and a transaction runner: those of this process, and those that reach it through the host's
socket. The numbered tests of the conformance lists run with both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from localcdap.api.app import (
    FieldType,
    StructuredTable,
    StructuredTableAdmin,
    StructuredTableSpecification,
    TransactionRunner,
)
from localcdap.datasets.transactions import TransactionService
from localcdap.rpc.client import Client
from localcdap.rpc.host_record import HostRecord
from localcdap.rpc.server import Server
from localcdap.store.structured.admin import StructuredTables, TableAdmin
from localcdap.testing.instance import open_new_store
from localcdap.transactions.calls import ADMIN, TRANSACTIONS
from localcdap.transactions.client import HostTransactionRunner

SIMPLE = StructuredTableSpecification(
    "simpleTable",
    fields={
        "key": FieldType.INTEGER,
        "key2": FieldType.LONG,
        "key3": FieldType.STRING,
        "col1": FieldType.STRING,
        "col2": FieldType.DOUBLE,
        "col3": FieldType.FLOAT,
        "col4": FieldType.BYTES,
        "col5": FieldType.LONG,
        "col6": FieldType.LONG,
        "col7": FieldType.BOOLEAN,
    },
    primary_key=["key", "key2", "key3"],
    indexes=["col1", "col6", "col7"],
)


class Instance(NamedTuple):
    admin: StructuredTableAdmin
    transactions: TransactionRunner


class Simple:
    """The table of the conformance lists, each call a transaction of its own."""

    def __init__(self, transactions: TransactionRunner, name: str = "simpleTable") -> None:
        self.transactions = transactions
        self.name = name

    def do(self, body: Callable[[StructuredTable], Any]) -> Any:
        return self.transactions.run(lambda context: body(context.table(self.name)))

    def fill(self, rows: list[dict[str, Any]]) -> None:
        self.do(lambda table: [table.upsert(row) for row in reversed(rows)])

    def scan(self, *args: Any, **kwargs: Any) -> list[int]:
        """The numbers of the rows: their second keys."""
        return self.do(lambda t: [row["key2"] for row in t.scan(*args, **kwargs)])

    def multi_scan(self, *args: Any, **kwargs: Any) -> list[int]:
        return self.do(lambda t: [row["key2"] for row in t.multi_scan(*args, **kwargs)])

    def rows(self) -> list[dict[str, Any]]:
        return self.do(lambda table: [dict(row) for row in table.scan()])


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StructuredTables]:
    with open_new_store(tmp_path_factory.mktemp("structured") / "localcdap.duckdb") as store:
        tables = StructuredTables(store)
        yield tables
        tables.close()


@pytest.fixture(scope="session")
def client(stored: StructuredTables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    address = str(tmp_path_factory.mktemp("s") / "s")
    service = TransactionService(stored)
    server = Server(address, b"key", {TRANSACTIONS: service, ADMIN: stored.admin})
    with Client(HostRecord(0, "1.0", address, b"key".hex())) as client:
        yield client
    server.close()
    service.close()


@pytest.fixture(params=["local", "host"])
def instance(
    request: pytest.FixtureRequest, stored: StructuredTables, client: Client
) -> Iterator[Instance]:
    for spec in stored.admin.list_tables():
        stored.admin.drop(spec.table)
    if request.param == "local":
        yield Instance(stored.admin, stored.transactions)
        return
    runner = HostTransactionRunner(lambda: client.make_proxy(TRANSACTIONS, TransactionService))
    yield Instance(client.make_proxy(ADMIN, TableAdmin), runner)
    runner.close()


@pytest.fixture
def simple(instance: Instance) -> Simple:
    instance.admin.create_or_update(SIMPLE)
    return Simple(instance.transactions)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "localcdap.duckdb"
