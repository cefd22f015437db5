"""The rows of the places of datasets, in the transaction of the caller.

A reference name stands for what a stage reads or writes. CDAP 6 gives the place too, as the fully qualified
name of an asset (``hydrator-common``, ``plugin/common/Asset``; ``BigQueryUtil.getFQN``), and leaves it to the
catalogue that receives the lineage to bring together what several reference names stand for. Here datasets
with a place in common are traced as one; each is shown under its own name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from localcdap.engine.messages.dataset_names import format_table_place, parse_table_place
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.store.store import Transaction

FindSame = Callable[[Collection[DatasetId]], Mapping[DatasetId, Collection[DatasetId]]]
"""Return the other datasets that hold the same data, by dataset; those without others are left out."""


class DatasetPlace(msgspec.Struct, frozen=True, order=True):
    """A dataset and a place where its data lies."""

    dataset: DatasetId
    place: str
    """A text that is equal for equal places."""


def find_none(_datasets: Collection[DatasetId]) -> Mapping[DatasetId, Collection[DatasetId]]:
    """Find no dataset: each holds data of its own."""
    return {}


class PlaceRecords:
    """Reads and writes the places of datasets in one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def replace(self, namespace: str, application: str, places: Collection[DatasetPlace]) -> None:
        """Write the places of an application in place of those that it had."""
        self._tx.execute(
            "DELETE FROM lineage_places WHERE application_namespace = ? AND application = ?",
            (namespace, application),
        )
        rows = [
            (each.dataset.namespace, each.dataset.dataset, each.place)
            for each in dict.fromkeys(places)
        ]
        if rows:
            self._tx.execute(
                "INSERT INTO lineage_places SELECT ?, ?, unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), "
                "unnest(?::VARCHAR[])",
                [namespace, application, *(list(column) for column in zip(*rows, strict=True))],
            )

    def list_places(self, namespace: str, application: str) -> list[DatasetPlace]:
        """Return the places of an application."""
        return self._read(
            "WHERE application_namespace = ? AND application = ? ORDER BY ALL",
            (namespace, application),
        )

    def find_same(self, datasets: Collection[DatasetId]) -> dict[DatasetId, list[DatasetId]]:
        """Return the other datasets that have a place in common with one, see :data:`FindSame`.

        A table of the instance is at its own place, also where only an SQL statement has used it.
        """
        by_place: dict[str, set[DatasetId]] = {
            format_table_place(each.namespace, each.dataset): {each} for each in datasets
        }
        for found in self._select(datasets):
            by_place.setdefault(found.place, set()).add(found.dataset)
        there = {place: {*_find_table(place)} for place in by_place}
        for found in self._select_places(by_place):
            there[found.place].add(found.dataset)
        same: dict[DatasetId, set[DatasetId]] = {}
        for place, given in by_place.items():
            for each in given:
                same.setdefault(each, set()).update(there[place] - {each})
        return {each: sorted(others) for each, others in same.items() if others}

    def _select(self, datasets: Collection[DatasetId]) -> list[DatasetPlace]:
        keys = [[each.namespace for each in datasets], [each.dataset for each in datasets]]
        return self._read(
            "SEMI JOIN (SELECT unnest(?::VARCHAR[]) AS namespace, unnest(?::VARCHAR[]) AS dataset) "
            "wanted USING (namespace, dataset)",
            keys,
        )

    def _select_places(self, places: Collection[str]) -> list[DatasetPlace]:
        return self._read("WHERE place IN (SELECT unnest(?::VARCHAR[]))", [list(places)])

    def _read(self, condition: str, values: Sequence[Any]) -> list[DatasetPlace]:
        rows = self._tx.execute(
            f"SELECT DISTINCT namespace, dataset, place FROM lineage_places {condition}",  # noqa: S608
            values,
        )
        return [DatasetPlace(DatasetId(row[0], row[1]), row[2]) for row in rows]

    def remove_namespace(self, namespace: str) -> None:
        """Remove the places of a namespace's applications and datasets."""
        self._tx.execute(
            "DELETE FROM lineage_places WHERE ? IN (application_namespace, namespace)", (namespace,)
        )


def _find_table(place: str) -> Iterator[DatasetId]:
    """Yield the dataset of the table that a place is, if it is one."""
    table = parse_table_place(place)
    if table is not None:
        yield DatasetId(*table)
