"""Relations between datasets and the programs that read and write them.

The terms are those of CDAP 6 ``cdap-data-fabric`` (``data2/metadata/lineage/Relation``, ``AccessType``).
The Structs are not tracked by the garbage collector (``gc=False``): none can be part of a cycle, and a query
may make a hundred thousand of them.
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Collection, Iterable, Iterator
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import DEFAULT_VERSION, PROGRAM_TYPES, MetadataEntity

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
