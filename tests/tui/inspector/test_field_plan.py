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
    ControlKind,
    FieldPlan,
    plan_form,
)

SCHEMA = '{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}'


def declared(name="p", type="string", **more):
    return PluginProperty(name, "", type, required=False, macro_supported=True, **more)


@pytest.mark.parametrize(
    ("property", "text", "kind"),
    [
        (declared(), "x", ControlKind.TEXT),
        (declared(), "two\nlines", ControlKind.CODE),
        (declared(), "bell\x07", ControlKind.ESCAPED),
        (declared(), "half\ud800", ControlKind.ESCAPED),
        (declared(), "mixed\r\nends\n", ControlKind.ESCAPED),
        (declared(), "dos\r\nends\r\n", ControlKind.CODE),
        (declared(type="long"), "${n}", ControlKind.TEXT),
        (declared(type="long"), "abc", ControlKind.TEXT),
        (declared(type="boolean"), "", ControlKind.SWITCH),
        (declared(type="boolean"), "TRUE", ControlKind.SWITCH),
        (declared(type="boolean"), "${flag}", ControlKind.TEXT),
        (declared(type="boolean"), "perhaps", ControlKind.TEXT),
        (declared(secret=True), "x", ControlKind.MASKED),
        (declared(syntax="sql"), "", ControlKind.CODE),
        (declared(type="schema"), "", ControlKind.SCHEMA),
        (declared(type="schema"), SCHEMA, ControlKind.SCHEMA),
        (declared(type="schema"), SCHEMA.replace('"r"', '"r","doc":"kept"'), ControlKind.CODE),
        (declared(type="schema"), "${schema}", ControlKind.CODE),
        (declared(type="list"), "a,b", ControlKind.LIST),
        (declared(type="list"), "a,${b}", ControlKind.TEXT),
        (declared(form="{a}:{b},"), "a:b", ControlKind.LIST),
        (declared(form="{a}:{b},"), "a", ControlKind.TEXT),
        (declared(form="{a}:{b}"), "a:b", ControlKind.LIST),
        (declared(form="{a:x|y}"), "x", ControlKind.TEXT),
        (None, "x", ControlKind.TEXT),
        (None, '{"a": 1}\n', ControlKind.CODE),
    ],
)
def test_the_kind_of_a_field(property, text, kind):
    assert FieldPlan("p", property).choose_control(text) is kind


def test_groups_are_in_the_order_of_the_declaration_and_unknown_ones_last():
    plugin = {
        "a": declared("a"),
        "b": declared("b", group="more"),
        "c": declared("c"),
    }
    groups, left_out = plan_form(plugin, ["zzz", "a"])
    assert [(g.heading, [f.name for f in g.fields]) for g in groups] == [
        ("", ["a", "c"]),
        ("more", ["b"]),
        (UNKNOWN, ["zzz"]),
    ]
    assert left_out == 0


def test_a_flood_of_properties_is_counted():
    groups, left_out = plan_form({}, [str(n) for n in range(MOST_UNKNOWN + 7)])
    assert len(groups[0].fields) == MOST_UNKNOWN
    assert left_out == 7


@given(st.text(max_size=30))
def test_any_text_has_a_kind(text):
    for type in ("string", "boolean", "list", "schema", "long"):
        kind = FieldPlan("p", declared(type=type)).choose_control(text)
        if kind is ControlKind.ESCAPED:
            assert json.loads(json.dumps(text)) == text
