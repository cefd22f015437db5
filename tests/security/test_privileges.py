"""Privileges: paths of entities, what covers what, and the errors of wrong settings."""

from __future__ import annotations

import pytest

from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission
from localcdap.security.privileges import Privileges, format_path, parse_path, read_user_privileges

READ, WRITE, ADMIN = Permission.READ, Permission.WRITE, Permission.ADMIN
ORDERS = MetadataEntity.of_dataset("orders", "sales")
PROGRAM = MetadataEntity.of_program("DataPipelineWorkflow", "Workflow", "Load", "sales")


@pytest.mark.parametrize(
    ("path", "entity", "is_covered"),
    [
        ("namespaces/sales", ORDERS, True),
        ("namespaces/sales/datasets/orders", ORDERS, True),
        ("namespaces/sales/datasets/other", ORDERS, False),
        ("namespaces/sale", ORDERS, False),
        ("namespaces/sales/datasets/orders", MetadataEntity.of_namespace("sales"), False),
        ("namespaces/sales/apps/Load", PROGRAM, True),
        (
            "namespaces/sales/artifacts/hasher",
            MetadataEntity.of_artifact("hasher", "1.0.0", "sales"),
            True,
        ),
        (
            "namespaces/sales/artifacts/hasher/versions/2.0.0",
            MetadataEntity.of_artifact("hasher", "1.0.0", "sales"),
            False,
        ),
        ("*", ORDERS, True),
    ],
)
def test_a_privilege_covers_its_entity_and_what_is_inside(path, entity, is_covered):
    held = Privileges.of(True, {"alice": {path: [READ]}})

    assert (held.find_missing("alice", entity, [READ]) == []) is is_covered
    assert held.find_missing("bob", entity, [READ]) == [READ]


def test_permissions_of_several_privileges_add_up():
    held = Privileges.of(
        True,
        {"alice": {"namespaces/sales": [READ], "namespaces/sales/datasets/orders": [WRITE]}},
    )

    assert held.find_missing("alice", ORDERS, [ADMIN, READ, WRITE]) == [ADMIN]


def test_what_is_around_and_inside_of_a_privilege_is_visible():
    held = Privileges.of(True, {"alice": {"namespaces/sales/datasets/orders": [READ]}})

    assert held.is_visible("alice", MetadataEntity.of_namespace("sales"))
    assert held.is_visible("alice", ORDERS)
    assert not held.is_visible("alice", MetadataEntity.of_dataset("other", "sales"))
    assert not held.is_visible("alice", MetadataEntity.of_namespace("default"))


def test_a_privilege_without_permissions_makes_nothing_visible():
    assert not Privileges.of(True, {"alice": {"*": []}}).is_visible("alice", ORDERS)


@pytest.mark.parametrize("path", ["", "sales", "apps/Load", "namespaces", "namespaces/", "a/b/c"])
def test_a_path_that_names_no_entity_is_an_error(path):
    with pytest.raises(ValueError, match=r"Expected '\*', namespaces/NAME"):
        parse_path(path)


@pytest.mark.parametrize(
    ("entity", "path"),
    [
        (ORDERS, "namespaces/sales/datasets/orders"),
        (PROGRAM, "namespaces/sales/apps/Load"),
        (
            MetadataEntity.of_artifact("a", "1.0.0", "sales"),
            "namespaces/sales/artifacts/a/versions/1.0.0",
        ),
    ],
)
def test_the_path_of_an_entity_can_be_granted(entity, path):
    assert format_path(entity) == path
    held = Privileges.of(True, {"alice": {path: [READ]}})
    assert held.find_missing("alice", entity, [READ]) == []


def test_all_problems_of_a_user_are_found_at_once():
    problems: list[tuple[str, str]] = []

    found = read_user_privileges(
        {"namespaces/a": "read", "tables/b": ["READ"], "namespaces/c": ["FLY"], "*": 3}, problems
    )

    assert found == {"namespaces/a": [READ]}
    assert [key for key, _ in problems] == [".tables/b", ".namespaces/c", ".*"]
    assert problems[1][1] == "Expected a list of READ, WRITE, EXECUTE, ADMIN, got ['FLY']"
