"""Lineage is kept for ever, or for the days of the setting."""

from __future__ import annotations

import uuid

import pytest

from localcdap.metadata.accesses import LineageRetention
from localcdap.metadata.lineage.relations import (
    AccessType,
    DatasetId,
    ProgramId,
    Relation,
    RelationRecords,
)
from localcdap.metadata.lineage.store import LineageStore
from localcdap.runs.metadata import StoredRuns
from localcdap.store.store import Store

ORDERS = DatasetId("n", "orders")
STEP = 10_000 * 86_400_000
"""A day, in the units of the time of a UUID."""


def make_run_id(days_ago: float) -> str:
    """A time-based UUID of some days ago."""
    now = uuid.uuid1()
    time = now.time - int(days_ago * STEP)
    fields = (time & 0xFFFFFFFF, time >> 32 & 0xFFFF, time >> 48 & 0xFFF | 0x1000)
    return str(uuid.UUID(fields=(*fields, *now.fields[3:])))


@pytest.mark.parametrize(("days", "kept"), [(0.0, 3), (30.0, 2), (0.5, 1)])
def test_the_lineage_of_older_runs_is_removed(store: Store, days: float, kept: int) -> None:
    lineage = LineageStore(store, StoredRuns(store), lambda _: ())
    relations = [
        Relation(ORDERS, ProgramId("n", f"a{age}", "Workflow", "w"), AccessType.READ, run)
        for age, run in ((age, make_run_id(age)) for age in (0, 2, 100))
    ]
    retention = LineageRetention(lineage, days)
    with store.transaction() as tx:
        lineage.add_relations(tx, relations)
    with store.transaction() as tx:
        assert retention.apply(tx) is bool(days)
        assert len(RelationRecords(tx).find_dataset_edges([ORDERS])) == kept
        assert not retention.apply(tx), "at most once an hour"
