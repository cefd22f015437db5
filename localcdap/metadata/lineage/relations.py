"""Relations between datasets and the programs that read and write them, as rows and as a summary by usage.

The terms are those of CDAP 6 ``cdap-data-fabric`` (``data2/metadata/lineage/Relation``, ``AccessType``).
The Structs are not tracked by the garbage collector (``gc=False``): none can be part of a cycle, and a query
may make a hundred thousand of them.

A reference name stands for what a stage reads or writes. CDAP 6 gives the place too, as the fully qualified
name of an asset (``hydrator-common``, ``plugin/common/Asset``; ``BigQueryUtil.getFQN``), and leaves it to the
catalogue that receives the lineage to bring together what several reference names stand for. Here datasets
with a place in common are traced as one; each is shown under its own name.
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import DEFAULT_VERSION, PROGRAM_TYPES, MetadataEntity
from localcdap.engine.messages.dataset_names import format_table_place, parse_table_place
from localcdap.store.store import Transaction

_CATEGORIES: Final = {type: category for category, type in PROGRAM_TYPES.items()}
_UUID_EPOCH: Final = 0x01B21DD213814000
"""Steps of 100 ns between 1582-10-15, at which the times of UUIDs begin, and 1970-01-01."""


class AccessType(enum.StrEnum):
    """How a program uses a dataset. The values are the words of the REST API."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read_write"
    UNKNOWN = "unknown"


class DatasetId(
    msgspec.Struct, frozen=True, gc=False, order=True, tag_field="entity", tag="DATASET"
):
    """A dataset. Its JSON is that of the original, ``{"entity": "DATASET", …}``."""

    namespace: str
    dataset: str

    @property
    def key(self) -> str:
        """The key of the dataset in lineage answers, such as ``dataset.default.orders``."""
        return f"dataset.{self.namespace}.{self.dataset}"

    def to_entity(self) -> MetadataEntity:
        """Return the dataset as an entity."""
        return MetadataEntity.of_dataset(self.dataset, self.namespace)


class ProgramId(
    msgspec.Struct, frozen=True, gc=False, order=True, tag_field="entity", tag="PROGRAM"
):
    """A program of an application. Lineage does not tell apart the versions of an application."""

    namespace: str
    application: str
    type: str
    """MapReduce, Service, Spark, Worker or Workflow."""
    program: str
    version: str = DEFAULT_VERSION

    @property
    def key(self) -> str:
        """The key of the program in lineage answers, such as ``workflows.default.Sales.Daily``."""
        category = _CATEGORIES.get(self.type, self.type.lower())
        return f"{category}.{self.namespace}.{self.application}.{self.program}"

    def to_entity(self) -> MetadataEntity:
        """Return the program as an entity."""
        return MetadataEntity.of_program(self.program, self.type, self.application, self.namespace)


class ProgramRunId(msgspec.Struct, frozen=True, gc=False, order=True):
    """A run of a program."""

    program: ProgramId
    run: str
    """A time-based UUID."""

    @property
    def start(self) -> int:
        """The time in the run's id, see :func:`read_run_time`."""
        return read_run_time(self.run)


class Relation(msgspec.Struct, frozen=True, gc=False, order=True):
    """One access of a run to a dataset. A run that reads and writes a dataset has two relations to it."""

    data: DatasetId
    program: ProgramId
    access: AccessType
    run: str
    components: tuple[str, ...] = ()
    """The parts of the program that made the access, distinct and in alphabetical order."""


class DatasetEdge(msgspec.Struct, frozen=True, gc=False, order=True):
    """A program that reads or writes a dataset, in whatever run."""

    data: DatasetId
    program: ProgramId
    access: AccessType


class RelationGroup(msgspec.Struct, frozen=True, gc=False):
    """Relations that differ in their runs only."""

    data: DatasetId
    program: ProgramId
    access: AccessType
    components: tuple[str, ...]
    runs: frozenset[str]

    def expand(self) -> Iterator[Relation]:
        """Return a relation for each run."""
        for run in self.runs:
            yield Relation(self.data, self.program, self.access, run, self.components)


def group_relations(relations: Iterable[Relation]) -> list[RelationGroup]:
    """Return groups of the relations that differ in their runs only."""
    runs: dict[tuple[DatasetId, ProgramId, AccessType, tuple[str, ...]], set[str]] = {}
    for each in relations:
        key = (each.data, each.program, each.access, each.components)
        runs.setdefault(key, set()).add(each.run)
    return [RelationGroup(*key, frozenset(found)) for key, found in runs.items()]


def read_run_time(run: str) -> int:
    """Return the time at which a run was asked for, which its id contains (CDAP 6 ``RunIds.getTime``).

    :returns: milliseconds since 1970.
    :raises BadRequestError: when the id is not a time-based UUID.
    """
    try:
        found = uuid.UUID(run)
    except ValueError:
        found = None
    if found is None or found.version != 1:
        raise BadRequestError(f"The id '{run}' of a run is not a time-based UUID.")
    return (found.time - _UUID_EPOCH) // 10_000


def find_scan_range(runs: Collection[str]) -> tuple[int, int]:
    """Return the range of the times in the ids of runs (CDAP 6 ``LineageAdmin.getScanRange``).

    :returns: the first time, and the millisecond after the last one; 0 and 0 without runs.
    :raises BadRequestError: when an id is not a time-based UUID.
    """
    if not runs:
        return 0, 0
    # The parts of the id from the highest digits of its time to the lowest.
    times = {run[14:18] + run[9:13] + run[:8]: run for run in runs}
    return read_run_time(times[min(times)]), read_run_time(times[max(times)]) + 1


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
