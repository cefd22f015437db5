"""Records of scripts: what is made for a schema does what the coercers of its fields do one by one."""

from __future__ import annotations

import pytest
from core_plugins.scripts.coercion import ScriptValueError, make_coercer
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api import Schema

KINDS = [
    Schema.BOOLEAN,
    Schema.INT,
    Schema.LONG,
    Schema.FLOAT,
    Schema.DOUBLE,
    Schema.STRING,
    Schema.BYTES,
]
schemas = st.sampled_from(KINDS + [kind.as_nullable for kind in KINDS])
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**31, 2**31 - 1, -(2**31), -(2**31) - 1, 2**63, 2**63 - 1, -(2**63)]),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.binary(max_size=5),
)
names = st.text(min_size=1, max_size=8)


class Mapping(dict):
    """A subclass whose absent keys are not null."""

    def __missing__(self, key):
        return "made up"


def outcome(coerce, value):
    try:
        made = coerce(value)
    except ScriptValueError as error:
        return str(error)
    return {name: (type(part), part) for name, part in made.items()}


@given(st.dictionaries(names, st.tuples(schemas, values, st.booleans()), max_size=5))
def test_a_record_is_coerced_as_its_fields_are(fields):
    schema = Schema.record("r", [(name, kind) for name, (kind, _, _) in fields.items()])
    record = {name: value for name, (_, value, is_there) in fields.items() if is_there}
    record["not in the schema"] = 1
    single = {name: make_coercer(kind, name) for name, (kind, _, _) in fields.items()}
    before = dict(record)

    def one_by_one(given):
        return {name: coerce(given.get(name)) for name, coerce in single.items()}

    assert outcome(make_coercer(schema), record) == outcome(one_by_one, record)
    assert outcome(make_coercer(schema), Mapping(record)) == outcome(one_by_one, record)
    assert record == before


def test_what_is_no_record_is_refused_and_null_only_where_allowed():
    schema = Schema.record("r", [("a", Schema.INT)])
    with pytest.raises(ScriptValueError, match="an emitted record must be a record, not 1"):
        make_coercer(schema)(1)
    with pytest.raises(ScriptValueError, match="field 'inner' is null"):
        make_coercer(schema, "inner")(None)
    assert make_coercer(schema.as_nullable)(None) is None


def test_a_record_may_be_changed_after_it_was_taken_over():
    schema = Schema.record(
        "r", [("a", Schema.INT), ("in", Schema.record("i", [("b", Schema.INT)]))]
    )
    record = {"a": 1, "in": {"b": 2}}
    taken = make_coercer(schema)(record)
    record["a"] = record["in"]["b"] = 9
    assert taken == {"a": 1, "in": {"b": 2}}
