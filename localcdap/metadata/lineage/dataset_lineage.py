"""The lineage of a dataset: the programs that read and wrote it, the datasets of these, and so on.

The algorithm is that of CDAP 6 ``LineageAdmin`` (``cdap-app-fabric``, ``metadata/LineageAdmin``).

Relations that differ in access, run or component only become one
(``data2/metadata/lineage/LineageCollapser``).
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Final, Protocol

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.metadata.lineage.field_lineage import Direction
from localcdap.metadata.lineage.relations import (
    AccessType,
    DatasetId,
    FindSame,
    ProgramId,
    ProgramRunId,
    Relation,
    RelationGroup,
    find_none,
    find_scan_range,
    group_relations,
)
from localcdap.metadata.lineage.time_range import TimeRange


class CollapseType(enum.StrEnum):
    """In what relations may differ to become one."""

    ACCESS = "access"
    RUN = "run"
    COMPONENT = "component"


class CollapsedRelation(msgspec.Struct, frozen=True, gc=False):
    """Relations that became one, with all of their accesses, runs and components."""

    data: DatasetId
    program: ProgramId
    accesses: frozenset[AccessType]
    runs: frozenset[str]
    components: frozenset[str] = frozenset()


def parse_collapse_types(words: Iterable[str]) -> set[CollapseType]:
    """Return the types of the words ``access``, ``run`` and ``component``, in any case.

    :raises BadRequestError: when a word is none of them.
    """
    found = set()
    for word in words:
        try:
            found.add(CollapseType(word.lower()))
        except ValueError:
            raise BadRequestError(
                f"Invalid collapse type {word}", "Use access, run or component."
            ) from None
    return found


def collapse_relations(
    relations: Iterable[Relation], types: Collection[CollapseType] = ()
) -> list[CollapsedRelation]:
    """Return the relations with those made one that differ only in what ``types`` names."""
    return collapse_groups(group_relations(relations), types)


def collapse_groups(
    groups: Iterable[RelationGroup], types: Collection[CollapseType] = ()
) -> list[CollapsedRelation]:
    """Return what :func:`collapse_relations` returns for the relations of the groups."""
    by_access = CollapseType.ACCESS not in types
    by_component = CollapseType.COMPONENT not in types
    by_run = CollapseType.RUN not in types
    if not types:
        return [each for group in groups for each in _separate(group)]
    found: dict[tuple[object, ...], list[RelationGroup]] = {}
    for group in groups:
        key = (
            group.data,
            group.program,
            group.access if by_access else None,
            group.components if by_component else None,
        )
        if not by_run:
            found.setdefault(key, []).append(group)
            continue
        for run in group.runs:
            one = msgspec.structs.replace(group, runs=frozenset([run]))
            found.setdefault((*key, run), []).append(one)
    return [_unite(alike) for alike in found.values()]


def _separate(group: RelationGroup) -> Iterator[CollapsedRelation]:
    """Return each relation of a group; there may be many."""
    access, components = frozenset([group.access]), frozenset(group.components)
    for run in group.runs:
        yield CollapsedRelation(group.data, group.program, access, frozenset([run]), components)


def _unite(groups: Sequence[RelationGroup]) -> CollapsedRelation:
    first, *others = groups
    return CollapsedRelation(
        first.data,
        first.program,
        frozenset(group.access for group in groups),
        first.runs.union(*(group.runs for group in others)) if others else first.runs,
        frozenset(component for group in groups for component in group.components),
    )


_ROLLUP_WORKFLOW = "workflow"


class LineageRuns(Protocol):
    """What lineage needs to know of runs. The package of runs lies above this one and gives it."""

    def find_running(self, times: TimeRange) -> Set[str]:
        """Return the ids of the runs that were running at any time of a range, both ends included."""

    def find_workflows(self, runs: Collection[ProgramRunId]) -> Mapping[ProgramRunId, ProgramRunId]:
        """Return the run of the workflow that each of these runs was part of; others are left out."""

    def list_inner_runs(self, workflow: ProgramRunId) -> Collection[ProgramRunId]:
        """Return the runs that were part of a run of a workflow."""


class RelationReader(Protocol):
    """Reads relations, as :class:`localcdap.metadata.lineage.relations.RelationRecords` does."""

    def find_programs(self, datasets: Set[DatasetId], times: tuple[int, int]) -> set[ProgramId]:
        """Return the programs that used datasets in any run of a range of time.

        :param times: the range of the runs' times, in milliseconds since 1970, without its end.
        """

    def find_relations(
        self, programs: Set[ProgramId], runs: Set[str], times: tuple[int, int]
    ) -> list[RelationGroup]:
        """Return the relations of programs in some runs."""


class RelationRecord(msgspec.Struct, frozen=True, gc=False):
    """A collapsed relation as the REST API has it; the texts are in alphabetical order."""

    data: str
    program: str
    accesses: list[str]
    runs: list[str]
    components: list[str]


class EntityRecord(msgspec.Struct, frozen=True, rename="camel"):
    """A program or dataset as the REST API has it."""

    entity_id: ProgramId | DatasetId


class LineageRecord(msgspec.Struct, frozen=True):
    """The answer of the REST API (CDAP 6 ``LineageRecord`` and ``LineageSerializer``)."""

    start: int
    """Seconds since 1970."""
    end: int
    relations: list[RelationRecord]
    programs: dict[str, EntityRecord]
    data: dict[str, EntityRecord]


class Lineage(msgspec.Struct, frozen=True):
    """The relations that a query found."""

    groups: list[RelationGroup]

    @property
    def relations(self) -> set[Relation]:
        """Each relation; there may be many."""
        return {relation for group in self.groups for relation in group.expand()}

    def collapse(self, types: Collection[CollapseType] = ()) -> list[CollapsedRelation]:
        """Return the relations collapsed, see :mod:`localcdap.metadata.lineage.dataset_lineage`."""
        return collapse_groups(self.groups, types)

    def to_record(self, times: TimeRange, types: Collection[CollapseType] = ()) -> LineageRecord:
        """Return the answer of the REST API."""
        collapsed = self.collapse(types)
        data = {each.data: each.data.key for each in collapsed}
        programs = {each.program: each.program.key for each in collapsed}
        records = [
            RelationRecord(
                data[each.data],
                programs[each.program],
                sorted(each.accesses),
                sorted(each.runs),
                sorted(each.components),
            )
            for each in collapsed
        ]
        records.sort(key=lambda each: (each.data, each.program, each.accesses, each.runs))
        return LineageRecord(
            times.start // 1_000,
            times.end // 1_000,
            records,
            {key: EntityRecord(program) for program, key in programs.items()},
            {key: EntityRecord(dataset) for dataset, key in data.items()},
        )


def check_levels(levels: int) -> None:
    """Check the number of levels of a query.

    :raises BadRequestError: when it is less than 1.
    """
    if levels < 1:
        raise BadRequestError(f"Invalid levels ({levels}), should be greater than 0.")


def compute_lineage(
    reader: RelationReader,
    runs: LineageRuns,
    dataset: DatasetId,
    times: TimeRange,
    levels: int = 10,
    rollup: str | None = None,
    find_same: FindSame = find_none,
) -> Lineage:
    """Return the relations within a number of levels around a dataset.

    One level is the programs that use the dataset and all datasets of these programs. A dataset that nothing
    is known of has no relations. Of several relations of a run to a dataset the UNKNOWN ones are left out.

    :param rollup: ``workflow`` replaces the programs inside a workflow by the workflow, and leaves out the
        datasets that exist only during its run: their names end with the run's id.
    :param find_same: finds the datasets that count as the ones that were reached.
    :raises BadRequestError: when the levels are less than 1.
    """
    check_levels(levels)
    query = _Query(reader, runs, times, _ROLLUP_WORKFLOW in (rollup or ""), find_same)
    query.search(dataset, levels)
    return Lineage(_drop_unknown(query.found.values()))


class _Query:
    """The breadth-first search of one query."""

    def __init__(
        self,
        reader: RelationReader,
        runs: LineageRuns,
        times: TimeRange,
        rollup: bool,
        find_same: FindSame,
    ) -> None:
        self._find_same = find_same
        self._reader = reader
        self._runs = runs
        self._running = runs.find_running(times)
        self._times = find_scan_range(self._running)
        self._rollup = rollup
        self._workflows: dict[ProgramRunId, ProgramRunId] = {}
        self.found: dict[tuple[object, ...], RelationGroup] = {}

    def search(self, dataset: DatasetId, levels: int) -> None:
        datasets, visited_datasets = {dataset}, {dataset}
        visited_programs: set[ProgramId] = set()
        for _ in range(levels):
            same = self._find_same(datasets)
            datasets |= {other for found in same.values() for other in found} - visited_datasets
            visited_datasets |= datasets
            programs, groups = self._find_programs(datasets, visited_programs)
            inner = self._find_inner_programs(g for g in groups if g.data in datasets)
            inner -= visited_programs | programs
            groups += self._read(inner)
            visited_programs |= programs | inner
            datasets = self._add(groups) - visited_datasets
            visited_datasets |= datasets
            if not datasets:
                return

    def _find_programs(
        self, datasets: Set[DatasetId], visited: Set[ProgramId]
    ) -> tuple[set[ProgramId], list[RelationGroup]]:
        """Return the other programs that used datasets while they were running, with their relations."""
        candidates = self._reader.find_programs(datasets, self._times) - visited
        groups = self._read(candidates)
        programs = {group.program for group in groups if group.data in datasets}
        return programs, [group for group in groups if group.program in programs]

    def _read(self, programs: Set[ProgramId]) -> list[RelationGroup]:
        groups = self._reader.find_relations(programs, self._running, self._times)
        if self._rollup:
            runs = {ProgramRunId(group.program, run) for group in groups for run in group.runs}
            self._workflows.update(self._runs.find_workflows(runs))
        return groups

    def _find_inner_programs(self, groups: Iterable[RelationGroup]) -> set[ProgramId]:
        """Return the programs of the workflows that these relations belong to."""
        if not self._rollup:
            return set()
        runs = (ProgramRunId(group.program, run) for group in groups for run in group.runs)
        workflows = {self._workflows[run] for run in runs if run in self._workflows}
        return {run.program for each in workflows for run in self._runs.list_inner_runs(each)}

    def _add(self, groups: list[RelationGroup]) -> set[DatasetId]:
        """Keep relations, and return their datasets."""
        if self._rollup:
            groups = group_relations(self._roll_up(groups))
        for group in groups:
            key = (group.data, group.program, group.access, group.components)
            known = self.found.get(key)
            if known is None:
                self.found[key] = group
            elif not group.runs <= known.runs:
                self.found[key] = msgspec.structs.replace(group, runs=known.runs | group.runs)
        return {group.data for group in groups}

    def _roll_up(self, groups: Iterable[RelationGroup]) -> Iterator[Relation]:
        for group in groups:
            for run in group.runs:
                workflow = self._workflows.get(ProgramRunId(group.program, run))
                if workflow is None:
                    yield Relation(group.data, group.program, group.access, run, group.components)
                elif not group.data.dataset.endswith(workflow.run):
                    yield Relation(group.data, workflow.program, group.access, workflow.run)


def _drop_unknown(groups: Iterable[RelationGroup]) -> list[RelationGroup]:
    """Leave out UNKNOWN accesses of runs with another access to the same dataset."""
    unknown: list[RelationGroup] = []
    kept: list[RelationGroup] = []
    for group in groups:
        (unknown if group.access is AccessType.UNKNOWN else kept).append(group)
    wanted = {(group.data, group.program, group.components) for group in unknown}
    known: dict[tuple[object, ...], set[str]] = {}
    for group in kept:
        key = (group.data, group.program, group.components)
        if key in wanted:
            known.setdefault(key, set()).update(group.runs)
    for group in unknown:
        runs = group.runs - known.get((group.data, group.program, group.components), set())
        if runs:
            kept.append(msgspec.structs.replace(group, runs=runs))
    return kept


READS: Final = frozenset((AccessType.READ, AccessType.READ_WRITE, AccessType.UNKNOWN))
"""The accesses by which data may go from a dataset into a program."""
WRITES: Final = frozenset((AccessType.WRITE, AccessType.READ_WRITE, AccessType.UNKNOWN))
"""The accesses by which data may go from a program into a dataset."""


def restrict_direction(
    lineage: Lineage,
    dataset: DatasetId,
    direction: Direction,
    levels: int,
    find_same: FindSame = find_none,
) -> Lineage:
    """Return the relations of a lineage over which data gets to a dataset, or comes from it.

    :param levels: the most programs one after the other.
    :param find_same: finds the datasets that count as the ones that were reached.
    """
    if direction is Direction.BOTH:
        return lineage
    upstream = direction is Direction.INCOMING
    kept = _follow(lineage.groups, dataset, levels, find_same, upstream=upstream)
    return Lineage([group for group in lineage.groups if group in kept])


def _follow(
    groups: Iterable[RelationGroup],
    start: DatasetId,
    levels: int,
    find_same: FindSame,
    *,
    upstream: bool,
) -> set[RelationGroup]:
    into, out_of = (WRITES, READS) if upstream else (READS, WRITES)
    all_groups = list(groups)
    kept: set[RelationGroup] = set()
    datasets, visited = {start}, {start}
    for _ in range(levels):
        same = find_same(datasets)
        datasets |= {other for found in same.values() for other in found} - visited
        visited |= datasets
        towards = {each for each in all_groups if each.data in datasets and each.access in into}
        programs = {each.program for each in towards}
        away = {each for each in all_groups if each.program in programs and each.access in out_of}
        kept |= towards | away
        datasets = {each.data for each in away} - visited
        visited |= datasets
        if not datasets:
            break
    return kept
