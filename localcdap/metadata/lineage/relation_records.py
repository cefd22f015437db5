"""The rows of relations between datasets and programs, in the transaction of the caller."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from typing import Any, Final

from localcdap.metadata.lineage.relations import (
    AccessType,
    DatasetEdge,
    DatasetId,
    ProgramId,
    Relation,
    RelationGroup,
    read_run_time,
)
from localcdap.store.store import Transaction

_DATASET: Final = ("namespace", "dataset")
_PROGRAM: Final = ("program_namespace", "application", "program_type", "program")
_RUNS: Final = "components, string_agg(run, ' ')"
"""The runs as one text, which is read ten times faster than a list."""
_ALL_TIMES: Final = (0, 2**63 - 1)
_INSERT: Final = """
INSERT INTO lineage_relations
SELECT * FROM (
    SELECT unnest(?::VARCHAR[]) AS namespace, unnest(?::VARCHAR[]) AS dataset,
        unnest(?::VARCHAR[]) AS program_namespace, unnest(?::VARCHAR[]) AS application,
        unnest(?::VARCHAR[]) AS program_type, unnest(?::VARCHAR[]) AS program,
        unnest(?::VARCHAR[]) AS run, unnest(?::BIGINT[]) AS start,
        unnest(?::VARCHAR[]) AS access, unnest(?::VARCHAR[][]) AS components
)
ANTI JOIN (SELECT * FROM lineage_relations WHERE start BETWEEN ? AND ?) USING (
    start, run, namespace, dataset, program_namespace, application, program_type, program, access, components
)
"""


class RelationRecords:
    """Reads and writes relations in one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def add(self, relations: Collection[Relation]) -> None:
        """Write relations; those that are stored already are left as they are.

        :raises BadRequestError: when the id of a run is not a time-based UUID; nothing is written.
        """
        rows = [_to_row(each) for each in dict.fromkeys(relations)]
        if rows:
            columns = [list(column) for column in zip(*rows, strict=True)]
            starts = [row[7] for row in rows]
            # The range of start times lets DuckDB skip nearly all stored relations.
            self._tx.execute(_INSERT, [*columns, min(starts), max(starts)])

    def find_programs(self, datasets: Set[DatasetId], times: tuple[int, int]) -> set[ProgramId]:
        """Return the programs that used datasets in any run of a range of time.

        :param times: the range of the runs' times, in milliseconds since 1970, without its end.
        """
        keys = [(each.namespace, each.dataset) for each in datasets]
        return {_to_key(row)[1] for row in self._select("max(1)", _DATASET, keys, times)}

    def find_relations(
        self, programs: Set[ProgramId], runs: Set[str], times: tuple[int, int]
    ) -> list[RelationGroup]:
        """Return the relations of programs in some runs, see :meth:`find_programs`."""
        keys = [(p.namespace, p.application, p.type, p.program) for p in programs]
        wanted = frozenset(runs)
        groups = []
        for row in self._select(_RUNS, _PROGRAM, keys, times):
            found = wanted.intersection(row[8].split(" "))
            if found:
                groups.append(RelationGroup(*_to_key(row), tuple(row[7]), found))
        return groups

    def find_dataset_edges(self, datasets: Collection[DatasetId]) -> list[DatasetEdge]:
        """Return the programs that use datasets, of all runs."""
        return self._find_edges(_DATASET, [(each.namespace, each.dataset) for each in datasets])

    def find_program_edges(self, programs: Collection[ProgramId]) -> list[DatasetEdge]:
        """Return the datasets that programs use, of all runs."""
        keys = [(p.namespace, p.application, p.type, p.program) for p in programs]
        return self._find_edges(_PROGRAM, keys)

    def remove_namespace(self, namespace: str) -> None:
        """Remove the relations of a namespace's datasets and of its programs."""
        self._tx.execute(
            "DELETE FROM lineage_relations WHERE namespace = ? OR program_namespace = ?",
            (namespace, namespace),
        )

    def remove_before(self, time: int) -> None:
        """Remove the relations of runs that were asked for before a time in milliseconds since 1970."""
        self._tx.execute("DELETE FROM lineage_relations WHERE start < ?", (time,))

    def _find_edges(
        self, columns: Sequence[str], keys: Collection[tuple[str, ...]]
    ) -> list[DatasetEdge]:
        return [DatasetEdge(*_to_key(row)) for row in self._select("max(1)", columns, keys)]

    def _select(
        self,
        more: str,
        columns: Sequence[str],
        keys: Collection[tuple[str, ...]],
        times: tuple[int, int] = _ALL_TIMES,
    ) -> list[tuple[Any, ...]]:
        """Return groups of the rows whose columns have one of the keys, which may be many."""
        if not keys:
            return []
        wanted = ", ".join(f"unnest(?::VARCHAR[]) AS {column}" for column in columns)
        return self._tx.execute(
            f"SELECT {', '.join((*_DATASET, *_PROGRAM))}, access, {more} FROM lineage_relations "  # noqa: S608
            f"SEMI JOIN (SELECT {wanted}) wanted USING ({', '.join(columns)}) "
            "WHERE start >= ? AND start < ? GROUP BY ALL",
            [*(list(column) for column in zip(*keys, strict=True)), *times],
        )


def _to_row(relation: Relation) -> tuple[Any, ...]:
    return (
        relation.data.namespace,
        relation.data.dataset,
        relation.program.namespace,
        relation.program.application,
        relation.program.type,
        relation.program.program,
        relation.run,
        read_run_time(relation.run),
        relation.access.value,
        list(relation.components),
    )


def _to_key(row: tuple[Any, ...]) -> tuple[DatasetId, ProgramId, AccessType]:
    return DatasetId(row[0], row[1]), ProgramId(*row[2:6]), AccessType(row[6])
