"""Collapsing relations: those that differ in access, run or component only become one.

The rules are those of CDAP 6 ``data2/metadata/lineage/LineageCollapser``.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.metadata.lineage.relations import (
    AccessType,
    DatasetId,
    ProgramId,
    Relation,
    RelationGroup,
    group_relations,
)


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
