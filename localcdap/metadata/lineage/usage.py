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
        f"SELECT {_COLUMNS}, count(DISTINCT run), max(start) FROM lineage_relations "  # noqa: S608
        f"WHERE namespace = ? AND dataset = ? GROUP BY {_COLUMNS} ORDER BY {_COLUMNS}",
        (dataset.namespace, dataset.dataset),
    )
    return [
        DatasetUsage(
            ProgramId(namespace, application, type, program),
            dataset,
            AccessType(access),
            runs,
            start,
        )
        for namespace, application, type, program, access, runs, start in rows
    ]
