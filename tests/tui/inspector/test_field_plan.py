"""Which fields a form has, and that no value is edited with something that would lose of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.config import PluginProperty
from localcdap.tui.inspector.properties.field_plan import (
    MOST_UNKNOWN,
    UNKNOWN,
    FieldPlan,
    Kind,
    planned,
)

SCHEMA = '{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}'


def declared(name="p", type="string", **more):
    return PluginProperty(name, "", type, required=False, macro_supported=True, **more)


@pytest.mark.parametrize(
    ("property", "text", "kind"),
    [
        (declared(), "x", Kind.TEXT),
        (declared(), "two\nlines", Kind.CODE),
        (declared(), "bell\x07", Kind.ESCAPED),
        (declared(), "half\ud800", Kind.ESCAPED),
        (declared(), "mixed\r\nends\n", Kind.ESCAPED),
        (declared(), "dos\r\nends\r\n", Kind.CODE),
        (declared(type="long"), "${n}", Kind.TEXT),
        (declared(type="long"), "abc", Kind.TEXT),
        (declared(type="boolean"), "", Kind.SWITCH),
        (declared(type="boolean"), "TRUE", Kind.SWITCH),
        (declared(type="boolean"), "${flag}", Kind.TEXT),
        (declared(type="boolean"), "perhaps", Kind.TEXT),
        (declared(secret=True), "x", Kind.MASKED),
        (declared(syntax="sql"), "", Kind.CODE),
        (declared(type="schema"), "", Kind.SCHEMA),
        (declared(type="schema"), SCHEMA, Kind.SCHEMA),
        (declared(type="schema"), SCHEMA.replace('"r"', '"r","doc":"kept"'), Kind.CODE),
        (declared(type="schema"), "${schema}", Kind.CODE),
        (declared(type="list"), "a,b", Kind.LIST),
        (declared(type="list"), "a,${b}", Kind.TEXT),
        (declared(form="{a}:{b},"), "a:b", Kind.LIST),
        (declared(form="{a}:{b},"), "a", Kind.TEXT),
        (declared(form="{a}:{b}"), "a:b", Kind.LIST),
        (declared(form="{a:x|y}"), "x", Kind.TEXT),
        (None, "x", Kind.TEXT),
        (None, '{"a": 1}\n', Kind.CODE),
    ],
)
def test_the_kind_of_a_field(property, text, kind):
    assert FieldPlan("p", property).kind(text) is kind


def test_groups_are_in_the_order_of_the_declaration_and_unknown_ones_last():
    plugin = {
        "a": declared("a"),
        "b": declared("b", group="more"),
        "c": declared("c"),
    }
    groups, left_out = planned(plugin, ["zzz", "a"])
    assert [(g.heading, [f.name for f in g.fields]) for g in groups] == [
        ("", ["a", "c"]),
        ("more", ["b"]),
        (UNKNOWN, ["zzz"]),
    ]
    assert left_out == 0


def test_a_flood_of_properties_is_counted():
    groups, left_out = planned({}, [str(n) for n in range(MOST_UNKNOWN + 7)])
    assert len(groups[0].fields) == MOST_UNKNOWN
    assert left_out == 7


@given(st.text(max_size=30))
def test_any_text_has_a_kind(text):
    for type in ("string", "boolean", "list", "schema", "long"):
        kind = FieldPlan("p", declared(type=type)).kind(text)
        if kind is Kind.ESCAPED:
            assert json.loads(json.dumps(text)) == text
