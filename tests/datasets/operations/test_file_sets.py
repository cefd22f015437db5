"""The classes of file sets: files without transactions, partitions with them."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.api.app.transactions import TransactionKind
from localcdap.api.errors import (
    BadRequestError,
    ConflictError,
    LocalcdapError,
    NotFoundError,
    TransactionError,
)
from localcdap.datasets.sql import SqlRequest

DAYS = {
    "partitioning.fields.": "day,n",
    "partitioning.field.day": "STRING",
    "partitioning.field.n": "LONG",
}


def write(files, path, content=b"x"):
    with files.open_output(path) as file:
        file.write(content)


def test_files_need_no_transaction(transactions, create):
    create("fileSet")
    files = transactions.dataset("data")
    assert files.list_files() == []
    write(files, "a/b.txt", b"one")
    write(files, "c.txt")
    assert files.list_files() == ["a/b.txt", "c.txt"]
    assert files.list_files("a") == ["a/b.txt"]
    with files.open_input("a/b.txt") as file:
        assert file.read() == b"one"
    files.delete("a")
    files.delete("a")
    assert (files.exists("a"), files.exists("c.txt"), files.get_location("c.txt").name) == (
        False,
        True,
        "c.txt",
    )


def test_paths_in_arguments(transactions, create):
    create("fileSet")
    arguments = {"input.paths": "a,b/c", "output.path": "out"}
    files = transactions.dataset("data", arguments=arguments)
    root = files.get_location()
    assert files.get_input_locations() == [root / "a", root / "b" / "c"]
    assert files.get_output_location() == root / "out"


@pytest.mark.parametrize("path", ["..", "../x", "/etc/passwd", "a/../../x", "link/x", "\0"])
def test_no_path_leads_out_of_the_folder(transactions, create, tmp_path, path):
    create("fileSet")
    files = transactions.dataset("data")
    (files.get_location() / "link").symlink_to(tmp_path)
    for call in (files.exists, files.open_input, files.open_output, files.delete):
        with pytest.raises((BadRequestError, ValueError)):
            call(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(path=st.text(max_size=8))
def test_any_text_is_a_path_inside_or_an_error(outside, cdap, create, path):
    if not cdap.datasets.has_dataset("default", "data"):
        create("fileSet")
    files = outside.dataset("data")
    try:
        place = files.get_location(path)
    except (LocalcdapError, ValueError):
        return
    assert place.is_relative_to(files.get_location())


def test_an_external_file_set_has_no_output(transactions, create, tmp_path):
    (tmp_path / "there").write_bytes(b"x")
    create("fileSet", **{"base.path": str(tmp_path), "data.external": "true"})
    files = transactions.dataset("data")
    assert files.list_files() == ["there"]
    message = "Output is not supported for external file set 'data'"
    for call in (lambda: files.open_output("new"), lambda: files.delete("there")):
        with pytest.raises(ConflictError, match=message):
            call()
    assert files.list_files() == ["there"]


def test_partitions_need_a_transaction(transactions, create):
    create("partitionedFileSet", **DAYS)
    files = transactions.dataset("data")
    with pytest.raises(
        TransactionError, match="Attempt to perform a data operation without a trans"
    ):
        files.get_partitions()


def test_partitions(transactions, create, cdap):
    create("partitionedFileSet", **DAYS, format="text")
    run = transactions.run

    def add(tx):
        files = tx.dataset("data")
        for day, n in (("mon", 1), ("mon", 2), ("tue", 3)):
            key = {"day": day, "n": n}
            folder = files.get_partition_location(key)
            folder.mkdir(parents=True)
            (folder / "part").write_text(f"{day}{n}\n", encoding="utf-8")
            files.add_partition(key, metadata={"by": "test"})
        files.add_partition({"n": 4, "day": "wed"}, "elsewhere/x")

    run(add)

    def find(filter=None):
        found = run(lambda tx: tx.dataset("data").get_partitions(filter))
        return [each.path for each in found]

    assert find() == ["elsewhere/x", "mon/1", "mon/2", "tue/3"]
    assert find({"day": "mon"}) == ["mon/1", "mon/2"]
    assert find({"day": ("tue", None)}) == ["elsewhere/x", "tue/3"]
    assert find({"day": "mon", "n": (2, 9)}) == ["mon/2"]
    rows = cdap.sql.query(SqlRequest("SELECT body, n FROM data ORDER BY n")).to_table().to_pylist()
    assert rows == [{"body": f"{d}{n}", "n": n} for d, n in (("mon", 1), ("mon", 2), ("tue", 3))]

    key = {"day": "mon", "n": 1}
    one = run(lambda tx: tx.dataset("data").get_partition(key))
    assert (one.key, one.path, one.metadata) == (key, "mon/1", {"by": "test"})
    assert run(lambda tx: tx.dataset("data").get_partition({"day": "x", "n": 1})) is None


def test_metadata_of_partitions(transactions, create):
    create("partitionedFileSet", **DAYS)
    key = {"day": "mon", "n": 1}

    def change(tx):
        files = tx.dataset("data")
        files.add_partition(key, metadata={"a": "1"})
        files.add_metadata(key, {"b": "2"})
        with pytest.raises(ConflictError, match="Entry already exists for metadata key: a"):
            files.add_metadata(key, {"a": "9"})
        files.set_metadata(key, {"a": "3", "c": "4"})
        files.remove_metadata(key, "b")

    transactions.run(change)
    found = transactions.run(lambda tx: tx.dataset("data").get_partition(key))
    assert found.metadata == {"a": "3", "c": "4"}
    with pytest.raises(NotFoundError, match="Partition {day=x, n=1} not found for dataset 'data'"):
        transactions.run(lambda tx: tx.dataset("data").set_metadata({"day": "x", "n": 1}, {}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda f: f.add_partition({"day": "mon", "n": 1}),
            ConflictError,
            "already has a partition with the key: {day=mon, n=1}",
        ),
        (
            lambda f: f.add_partition({"day": "x", "n": 1}, "mon/1"),
            ConflictError,
            "with the path 'mon/1'",
        ),
        (lambda f: f.get_partition_location({"day": "mon", "n": 1}), ConflictError, "already has"),
        (
            lambda f: f.add_partition({"day": "mon"}),
            BadRequestError,
            "Give a value of each of: day, n",
        ),
        (lambda f: f.add_partition({"day": 1, "n": 1}), BadRequestError, "cannot hold 1"),
        (lambda f: f.add_partition({"day": "..", "n": 1}, "../x"), BadRequestError, "leads out"),
        (lambda f: f.get_partitions({"hour": 1}), BadRequestError, "no column 'hour'"),
    ],
)
def test_wrong_partitions(transactions, create, call, error, message):
    create("partitionedFileSet", **DAYS)
    transactions.run(lambda tx: tx.dataset("data").add_partition({"day": "mon", "n": 1}))
    with pytest.raises(error) as caught:
        transactions.run(lambda tx: call(tx.dataset("data")))
    assert message in str(caught.value) + str(caught.value.corrective_action)


def test_files_of_a_dropped_partition_go_with_the_commit(transactions, create):
    create("partitionedFileSet", **DAYS)
    key = {"day": "mon", "n": 1}
    files = transactions.dataset("data")
    write(files, "mon/1/part")
    transactions.run(lambda tx: tx.dataset("data").add_partition(key))

    def drop(tx, fails):
        tx.dataset("data").drop_partition(key)
        assert tx.dataset("data").get_partition(key) is None
        if fails:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        transactions.run(lambda tx: drop(tx, fails=True))
    assert files.list_files() == ["mon/1/part"]
    transactions.run(lambda tx: drop(tx, fails=False))
    assert files.list_files() == []
    transactions.run(lambda tx: drop(tx, fails=False))


def test_a_read_only_transaction_drops_nothing(transactions, create):
    create("partitionedFileSet", **DAYS)
    key = {"day": "mon", "n": 1}
    transactions.run(lambda tx: tx.dataset("data").add_partition(key))
    with pytest.raises(TransactionError, match="read-only"):
        transactions.run(
            lambda tx: tx.dataset("data").drop_partition(key), kind=TransactionKind.READ_ONLY
        )


def test_partitions_by_time(transactions, create):
    create("timePartitionedFileSet")
    zone = datetime.timezone(datetime.timedelta(hours=2))
    times = [
        datetime.datetime(2025, 12, 31, 23, 59, 30, tzinfo=datetime.UTC),
        datetime.datetime(2026, 1, 1, 2, 0, tzinfo=zone),
        datetime.datetime(2026, 1, 1, 1, 0, tzinfo=datetime.UTC),
    ]

    def add(tx):
        for each in times:
            tx.dataset("data").add_partition_by_time(each)

    transactions.run(add)

    def find(start, end):
        found = transactions.run(lambda tx: tx.dataset("data").get_partitions_by_time(start, end))
        return [each.path for each in found]

    assert find(times[0], times[2]) == ["2025/12/31/23/59", "2026/1/1/0/0"]
    assert find(times[1], times[2] + datetime.timedelta(minutes=1)) == [
        "2026/1/1/0/0",
        "2026/1/1/1/0",
    ]
    transactions.run(lambda tx: tx.dataset("data").drop_partition_by_time(times[1]))
    assert transactions.run(lambda tx: tx.dataset("data").get_partition_by_time(times[1])) is None
    with pytest.raises(BadRequestError, match="has no time zone"):
        transactions.run(
            lambda tx: tx.dataset("data").get_partition_by_time(datetime.datetime(2026, 1, 1))  # noqa: DTZ001
        )
