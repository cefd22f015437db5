"""What fields offer."""

from __future__ import annotations

import pytest

from localcdap.api.schema import Schema
from localcdap.tui.inspector.properties.field_plan import suggest_join_keys, suggest_joined_fields


def inputs(text):
    """``a: id int, name string; b: id int``"""
    found = {}
    for each in text.split("; "):
        stage, _, fields = each.partition(": ")
        named = [field.split(" ") for field in fields.split(", ")]
        found[stage] = Schema.parse(
            {
                "type": "record",
                "name": "r",
                "fields": [
                    {"name": n, "type": [t[:-1], "null"] if t[-1] == "?" else t} for n, t in named
                ],
            }
        )
    return found


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("a: id int, name string", ["a.id as id", "a.name as name"]),
        ("a: id int; b: id int", ["a.id as id", "b.id as b_id"]),
        ("a: b_id int, id int; b: id int", ["a.b_id as b_id", "a.id as id", "b.id as b_id_2"]),
        ("a: id int; my b: id int", ["a.id as id", "my b.id as my_b_id"]),
    ],
)
def test_fields_of_a_join_have_names_of_their_own(text, offered):
    assert [each.text for each in suggest_joined_fields(inputs(text))] == offered


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("a: id int", []),
        ("a: id int; b: id string", ["a.id = b.id"]),
        ("a: x int?; b: id int, name string", ["a.x = b.id"]),
        (
            "a: id int, x int; b: id int",
            ["a.id = b.id", "a.x = b.id"],
        ),
        ("a: id int, x int; b: id int; c: id int, x int", ["a.id = b.id = c.id"]),
    ],
)
def test_what_can_be_compared_is_offered(text, offered):
    assert [each.text for each in suggest_join_keys(inputs(text))] == offered
