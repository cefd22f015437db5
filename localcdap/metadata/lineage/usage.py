"""Which programs use which datasets, over all their runs (CDAP 6 ``UsageRegistry``)."""

from __future__ import annotations

import msgspec

from localcdap.metadata.lineage.relations import AccessType, DatasetId, ProgramId
from localcdap.store.store import Transaction

_COLUMNS = "program_namespace, application, program_type, program, access"


class DatasetUsage(msgspec.Struct, frozen=True):
    """How one program uses one dataset."""

    program: ProgramId
    dataset: DatasetId
    access: AccessType
    runs: int
    """The number of runs that did so."""
    last_start: int
    """The start of the last of them, in milliseconds since 1970."""


def list_usage_of_dataset(tx: Transaction, dataset: DatasetId) -> list[DatasetUsage]:
    """Return the programs that use a dataset, by name and access."""
    rows = tx.execute(
        f"SELECT namespace, dataset, {_COLUMNS}, count(DISTINCT run), max(start) FROM lineage_relations "  # noqa: S608
        f"WHERE namespace = ? AND dataset = ? GROUP BY ALL ORDER BY {_COLUMNS}",
        (dataset.namespace, dataset.dataset),
    )
    return [_create_usage(*row) for row in rows]


def list_usage_of_namespace(tx: Transaction, namespace: str) -> list[DatasetUsage]:
    """Return the programs that use the datasets of a namespace, the last use first."""
    rows = tx.execute(
        f"SELECT namespace, dataset, {_COLUMNS}, count(DISTINCT run), max(start) AS last "  # noqa: S608
        "FROM lineage_relations WHERE namespace = ? GROUP BY ALL "
        f"ORDER BY last DESC, dataset, {_COLUMNS}",
        (namespace,),
    )
    return [_create_usage(*row) for row in rows]


def _create_usage(
    namespace: str,
    dataset: str,
    owner: str,
    application: str,
    type: str,
    program: str,
    access: str,
    runs: int,
    start: int,
) -> DatasetUsage:
    return DatasetUsage(
        ProgramId(owner, application, type, program),
        DatasetId(namespace, dataset),
        AccessType(access),
        runs,
        start,
    )
