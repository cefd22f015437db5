"""Schemas as lines: every schema is written so that it reads back, and errors are reported by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.tui.schema_text import SchemaSyntaxError, format_schema, parse_schema

simple = st.sampled_from(
    [Schema.of(each) for each in Type if each.is_simple]
    + [Schema.of(each) for each in LogicalType if each is not LogicalType.DECIMAL]
)
names = st.text(min_size=1, max_size=8).filter(
    lambda t: t.strip() and "\n" not in t and t.splitlines() == [t]
)


def larger(inner):
    fields = st.lists(st.tuples(names, inner), min_size=1, max_size=3, unique_by=lambda f: f[0])
    return st.one_of(
        inner.map(lambda s: s.as_nullable),
        inner.map(Schema.array),
        st.tuples(inner, inner).map(lambda s: Schema.map(*s)),
        st.lists(inner, min_size=1, max_size=3).map(Schema.union),
        st.lists(names, min_size=1, max_size=3, unique=True).map(Schema.enum),
        st.builds(Schema.record, names, fields),
        st.tuples(st.integers(1, 38), st.integers(0, 10)).map(lambda d: Schema.decimal(*d)),
        names.map(Schema.reference),
    )


schemas = st.recursive(simple, larger, max_leaves=6)
records = st.lists(st.tuples(names, schemas), min_size=1, max_size=4, unique_by=lambda f: f[0])


@given(records)
def test_every_schema_reads_back(fields):
    schema = Schema.record("r", fields)
    assert parse_schema(format_schema(schema), "r") == schema


def test_lines_as_somebody_types_them():
    schema = parse_schema(
        "\n id LONG\nname  string ?\n\nprice decimal(10,2)\ntags array< string? >\n", "r"
    )
    assert [f.name for f in schema] == ["id", "name", "price", "tags"]
    assert schema.field("name").schema == Schema.STRING.as_nullable
    assert schema.field("price").schema == Schema.decimal(10, 2)
    assert schema.field("tags").schema == Schema.array(Schema.STRING.as_nullable)
    assert parse_schema("  \n") is None


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("id", "line 1: Field 'id' has no type."),
        ("id long\nx strin", "line 2: There is no type 'strin'; types: null, boolean,"),
        ("id long\nid int", "line 2: There is a field 'id' already."),
        ("id long int", "line 1: 'int' is not expected here"),
        ("id array<", "line 1: The line ends where a type is expected."),
        ("id map<string>", "line 1: The form of this type is map<string, long>."),
        ("id decimal(0)", "line 1: Decimal type must contain a positive precision value."),
        ("id [", "line 1: '[' is not part of a name or a type."),
        ("a array<" * 80, "line 1: "),
    ],
)
def test_what_is_wrong_is_reported_by_line(text, reported):
    with pytest.raises(SchemaSyntaxError) as caught:
        parse_schema(text)
    assert str(caught.value).startswith(reported)


def test_all_lines_are_reported_at_once():
    with pytest.raises(SchemaSyntaxError) as caught:
        parse_schema("a\nb string\nc strin")
    assert [problem.line for problem in caught.value.problems] == [1, 3]


@given(st.text(max_size=40))
def test_no_text_breaks_it(text):
    try:
        schema = parse_schema(text)
    except SchemaSyntaxError:
        return
    assert schema is None or parse_schema(format_schema(schema), "etlSchemaBody") == schema
