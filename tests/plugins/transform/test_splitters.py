"""NullFieldSplitter and UnionSplitter: ports, their schemas, failures."""

from __future__ import annotations

import pytest
from transform_plugins.splitters import NullFieldSplitter, UnionSplitter

from localcdap.api import Schema
from tests.plugins.transform.support import configure, messages, only_failure, record

INNER = record("Address", street=Schema.STRING)
UNION = Schema.union([Schema.INT, Schema.STRING, INNER, Schema.NULL])
INPUT = record("in", a=Schema.INT, v=UNION)


def test_null_field_splitter_ports():
    given = record("in", a=Schema.INT.as_nullable, b=Schema.STRING)

    modified = configure(NullFieldSplitter, {"field": "a"}, given).port_schemas
    kept = configure(NullFieldSplitter, {"field": "a", "modifySchema": "false"}, given).port_schemas

    assert modified == {
        "null": given,
        "nonnull": record("in.nonnull", a=Schema.INT, b=Schema.STRING),
    }
    assert kept == {"null": given, "nonnull": given}


def test_null_field_splitter_keeps_the_other_types_of_a_union():
    made = configure(NullFieldSplitter, {"field": "v"}, INPUT).port_schemas["nonnull"]

    assert made.field("v").schema == Schema.union([Schema.INT, Schema.STRING, INNER])


def test_null_field_splitter_failures():
    missing = only_failure(configure(NullFieldSplitter, {"field": "x"}, INPUT))
    nothing = configure(NullFieldSplitter, {"field": "n"}, record(n=Schema.NULL))

    assert missing.message == "Field 'x' must exist in the input schema."
    assert missing.field == "field"
    assert messages(nothing) == ["Field 'n' does not contain a non-null type in its union schema."]


def test_union_splitter_has_a_port_for_each_type():
    ports = configure(UnionSplitter, {"unionField": "v"}, INPUT).port_schemas

    assert ports == {
        "int": record("in.int", a=Schema.INT, v=Schema.INT),
        "string": record("in.string", a=Schema.INT, v=Schema.STRING),
        "Address": record("in.Address", a=Schema.INT, v=INNER),
        "null": record("in.null", a=Schema.INT, v=Schema.NULL),
    }


def test_union_splitter_may_keep_the_union():
    properties = {"unionField": "v", "modifySchema": "false"}

    ports = configure(UnionSplitter, properties, INPUT).port_schemas

    assert set(ports) == {"int", "string", "Address", "null"}
    assert ports["int"] == INPUT.renamed("in.int")


def test_union_splitter_without_a_field():
    assert configure(UnionSplitter, {}, INPUT).port_schemas == {"in": INPUT}


@pytest.mark.parametrize(
    ("type", "message"),
    [
        (None, "Field 'v' must exist in the input schema."),
        (Schema.INT, "Field 'v' must be of type union, but is of type 'int'."),
        (
            Schema.union([Schema.INT, Schema.enum(["A"])]),
            "Unsupported type 'enum' within union field 'v'.",
        ),
        (
            Schema.union([Schema.INT, Schema.array(Schema.INT)]),
            "Unsupported type 'array' within union field 'v'.",
        ),
        (
            Schema.union([Schema.INT, Schema.DATE]),
            "Two members of union field 'v' would share the port 'int'.",
        ),
    ],
)
def test_union_splitter_failures(type, message):
    given = record(v=type) if type is not None else record(a=Schema.INT)

    assert messages(configure(UnionSplitter, {"unionField": "v"}, given)) == [message]
