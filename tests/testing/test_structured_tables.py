"""The tables with which the author of a system application tests a store class."""

from __future__ import annotations

from localcdap.api.app import FieldType, Range, StructuredTableSpecification, TransactionRunner

WORKSPACES = StructuredTableSpecification(
    "workspaces",
    fields={
        "namespace": FieldType.STRING,
        "generation": FieldType.LONG,
        "id": FieldType.STRING,
        "name": FieldType.STRING,
        "sample": FieldType.BYTES,
    },
    primary_key=["namespace", "generation", "id"],
)


class WorkspaceStore:
    """What an author would write."""

    def __init__(self, transactions: TransactionRunner, namespace: str, generation: int) -> None:
        self._transactions = transactions
        self._space = {"namespace": namespace, "generation": generation}

    def save(self, id: str, name: str, sample: bytes | None = None) -> None:
        record = self._space | {"id": id, "name": name}
        if sample is not None:
            record["sample"] = sample
        self._transactions.run(lambda context: context.table("workspaces").upsert(record))

    def names(self) -> list[str]:
        return self._transactions.run(
            lambda context: [
                row["name"]
                for row in context.table("workspaces").scan(Range.singleton(self._space))
            ]
        )

    def sample(self, id: str) -> bytes | None:
        row = self._transactions.run(
            lambda context: context.table("workspaces").read(self._space | {"id": id}, ["sample"])
        )
        return None if row is None else row["sample"]


def test_a_store_of_an_application(cdap_structured_tables):
    cdap_structured_tables.admin.create_or_update(WORKSPACES)
    old = WorkspaceStore(cdap_structured_tables.transactions, "sales", 1)
    new = WorkspaceStore(cdap_structured_tables.transactions, "sales", 2)

    old.save("a", "of a deleted namespace")
    new.save("b", "second", b"rows")
    new.save("a", "first")
    new.save("b", "renamed")

    assert new.names() == ["first", "renamed"]
    assert (new.sample("b"), new.sample("a"), new.sample("c")) == (b"rows", None, None)


def test_each_test_has_tables_of_its_own(cdap_structured_tables):
    assert not cdap_structured_tables.admin.exists("workspaces")
