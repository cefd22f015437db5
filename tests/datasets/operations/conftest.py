"""One instance, and transactions in its process and from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from localcdap.datasets.model import DatasetRequest
from localcdap.datasets.transactions import TransactionService
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.host.cdap import Cdap
from localcdap.rpc.client import Client
from localcdap.rpc.host_record import HostRecord
from localcdap.rpc.server import Server
from localcdap.transactions.calls import TRANSACTIONS
from localcdap.transactions.client import HostTransactionRunner

Create = Callable[..., str]


@pytest.fixture(scope="package")
def cdap(tmp_path_factory: pytest.TempPathFactory, fresh_home: Any) -> Iterator[Cdap]:
    with open_in_process(Home(fresh_home(tmp_path_factory.mktemp("operations")))) as cdap:
        yield cdap


@pytest.fixture(scope="package")
def outside(
    cdap: Cdap, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HostTransactionRunner]:
    """Runs transactions as another process does."""
    address = str(tmp_path_factory.mktemp("d") / "s")
    server = Server(address, b"key", {TRANSACTIONS: cdap.transaction_service})
    with Client(HostRecord(0, "1.0", address, b"key".hex())) as client:
        runner = HostTransactionRunner(lambda: client.make_proxy(TRANSACTIONS, TransactionService))
        yield runner
        runner.close()
    server.close()


@pytest.fixture(params=["inside", "outside"])
def transactions(
    request: pytest.FixtureRequest, cdap: Cdap, outside: HostTransactionRunner
) -> HostTransactionRunner:
    return cdap.transactions if request.param == "inside" else outside


@pytest.fixture
def create(cdap: Cdap, request: pytest.FixtureRequest) -> Iterator[Create]:
    """Creates a dataset that is removed after the test, and returns its name."""
    made: list[str] = []

    def create(type: str, name: str = "data", **properties: str) -> str:
        cdap.datasets.create(DatasetRequest(name, type, properties))
        made.append(name)
        return name

    yield create
    for name in made:
        if cdap.datasets.has_dataset("default", name):
            cdap.datasets.drop("default", name)
