"""One direction of the lineage of a dataset: what lies before it, or what lies behind it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from localcdap.metadata.lineage.dataset_lineage import Lineage
from localcdap.metadata.lineage.field_answers import Direction
from localcdap.metadata.lineage.relations import (
    AccessType,
    DatasetId,
    FindSame,
    RelationGroup,
    find_none,
)

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
