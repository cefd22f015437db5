"""Collapsing relations: CDAP's LineageCollapserTest by name, and components."""

from __future__ import annotations

import pytest

from localcdap.api.errors import BadRequestError
from localcdap.metadata.lineage.dataset_lineage import (
    CollapsedRelation,
    CollapseType,
    collapse_relations,
    parse_collapse_types,
)
from localcdap.metadata.lineage.relations import AccessType, DatasetId, ProgramId, Relation

READ, WRITE, UNKNOWN = AccessType.READ, AccessType.WRITE, AccessType.UNKNOWN
ACCESS, RUN, COMPONENT = CollapseType.ACCESS, CollapseType.RUN, CollapseType.COMPONENT
D1, D2 = DatasetId("n1", "d1"), DatasetId("n1", "d2")
S1 = ProgramId("n1", "app1", "Service", "ser1")
S2 = ProgramId("n1", "app2", "Service", "ser2")


def relations(*rows):
    return [Relation(data, program, access, run) for data, program, access, run in rows]


def collapsed(data, program, accesses, runs, components=()):
    return CollapsedRelation(
        data, program, frozenset(accesses), frozenset(runs), frozenset(components)
    )


ONE_RUN = relations((D1, S1, READ, "r1"), (D1, S1, WRITE, "r1"), (D1, S1, READ, "r1"))
THREE_RUNS = ONE_RUN + relations(
    (D1, S1, READ, "r2"),
    (D1, S1, WRITE, "r2"),
    (D1, S1, READ, "r2"),
    (D1, S1, UNKNOWN, "r2"),
    (D1, S1, READ, "r3"),
    (D1, S1, UNKNOWN, "r3"),
)
ALL_RUNS = ["r1", "r2", "r3"]


def test_collapse_access():
    assert collapse_relations(ONE_RUN, {ACCESS}) == [collapsed(D1, S1, [READ, WRITE], ["r1"])]


def test_collapse_multi():
    given = ONE_RUN + relations((D1, S2, READ, "r1"), (D2, S1, READ, "r1"), (D2, S1, READ, "r1"))

    assert set(collapse_relations(given, {ACCESS})) == {
        collapsed(D1, S1, [READ, WRITE], ["r1"]),
        collapsed(D1, S2, [READ], ["r1"]),
        collapsed(D2, S1, [READ], ["r1"]),
    }


def test_collapse_run():
    given = relations((D1, S1, READ, "r1"), (D1, S1, WRITE, "r1"), (D1, S1, READ, "r2"))

    assert set(collapse_relations(given, {RUN})) == {
        collapsed(D1, S1, [READ], ["r1", "r2"]),
        collapsed(D1, S1, [WRITE], ["r1"]),
    }


def test_collapse_component():
    assert set(collapse_relations(ONE_RUN, {COMPONENT})) == {
        collapsed(D1, S1, [READ], ["r1"]),
        collapsed(D1, S1, [WRITE], ["r1"]),
    }


def test_components_are_compared_as_a_set_unless_they_are_collapsed():
    given = [
        Relation(D1, S1, READ, "r1", ("a",)),
        Relation(D1, S1, READ, "r1", ("b",)),
        Relation(D1, S1, READ, "r2", ("a",)),
    ]

    assert set(collapse_relations(given, {RUN})) == {
        collapsed(D1, S1, [READ], ["r1", "r2"], ["a"]),
        collapsed(D1, S1, [READ], ["r1"], ["b"]),
    }
    assert set(collapse_relations(given, {COMPONENT})) == {
        collapsed(D1, S1, [READ], ["r1"], ["a", "b"]),
        collapsed(D1, S1, [READ], ["r2"], ["a"]),
    }


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (
            {ACCESS, RUN},
            {collapsed(D1, S1, [READ, WRITE, UNKNOWN], ALL_RUNS)},
        ),
        (
            {ACCESS, COMPONENT},
            {
                collapsed(D1, S1, [READ, WRITE], ["r1"]),
                collapsed(D1, S1, [READ, WRITE, UNKNOWN], ["r2"]),
                collapsed(D1, S1, [READ, UNKNOWN], ["r3"]),
            },
        ),
        (
            {COMPONENT, RUN},
            {
                collapsed(D1, S1, [READ], ALL_RUNS),
                collapsed(D1, S1, [WRITE], ["r1", "r2"]),
                collapsed(D1, S1, [UNKNOWN], ["r2", "r3"]),
            },
        ),
        (
            {ACCESS, RUN, COMPONENT},
            {collapsed(D1, S1, [READ, WRITE, UNKNOWN], ALL_RUNS)},
        ),
    ],
    ids=["access and run", "access and component", "component and run", "all"],
)
def test_collapse_combinations(types, expected):
    found = collapse_relations(THREE_RUNS, types)

    assert set(found) == expected
    assert len(found) == len(expected)


def test_nothing_collapses_unless_it_is_asked_for():
    assert len(collapse_relations(THREE_RUNS)) == 7


def test_types_are_read_in_any_case():
    assert parse_collapse_types(["Access", "RUN", "component"]) == {ACCESS, RUN, COMPONENT}
    with pytest.raises(BadRequestError, match="^Invalid collapse type stage$"):
        parse_collapse_types(["run", "stage"])
