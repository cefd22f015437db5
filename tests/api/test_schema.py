from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import SchemaError
from localcdap.api.schema import Field, LogicalType, Schema, Type, all_same_shape
from tests.api.strategies import SCHEMAS

TREE = {
    "type": "record",
    "name": "tree",
    "fields": [
        {"name": "value", "type": "int"},
        {"name": "children", "type": {"type": "array", "items": "tree"}},
    ],
}


@pytest.mark.parametrize(
    "name", ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
)
def test_simple_types_are_named_in_any_case_with_or_without_quotes(name):
    expected = Schema.of(Type(name))

    assert Schema.parse(name) == Schema.parse(f'"{name}"') == Schema.parse({"type": name})
    assert Schema.parse(f" {name.upper()} ") == Schema.parse({"type": name.title()}) == expected
    assert expected.to_json() == name


@pytest.mark.parametrize(
    ("document", "schema"),
    [
        ({"type": "array", "items": "int"}, Schema.array(Schema.INT)),
        (
            {"type": "map", "keys": "string", "values": ["long", "null"]},
            Schema.map(Schema.STRING, Schema.LONG.as_nullable),
        ),
        ({"type": "enum", "symbols": ["A", "B"]}, Schema.enum(["A", "B"])),
        (["int", "string"], Schema.union([Schema.INT, Schema.STRING])),
        (
            {"type": "record", "name": "r", "fields": [{"name": "f", "type": "bytes"}]},
            Schema.record("r", [Field("f", Schema.BYTES)]),
        ),
        ({"type": "int", "logicalType": "date"}, Schema.DATE),
        ({"type": "int", "logicalType": "time-millis"}, Schema.of(LogicalType.TIME_MILLIS)),
        ({"type": "long", "logicalType": "time-micros"}, Schema.TIME),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            Schema.of(LogicalType.TIMESTAMP_MILLIS),
        ),
        ({"type": "long", "logicalType": "timestamp-micros"}, Schema.TIMESTAMP),
        ({"type": "string", "logicalType": "datetime"}, Schema.DATETIME),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            Schema.decimal(9, 2),
        ),
    ],
)
def test_each_form_of_document_is_read_and_written(document, schema):
    assert Schema.parse(document) == Schema.parse(json.dumps(document)) == schema
    assert schema.to_json() == document
    assert json.loads(str(schema)) == document


def test_type_names_inside_documents_are_case_insensitive():
    document = {"type": "RECORD", "name": "R", "fields": [{"name": "F", "type": ["Int", "NULL"]}]}

    assert Schema.parse(document) == Schema.record("R", [("F", Schema.INT.as_nullable)])


def test_a_map_without_keys_has_strings_as_keys_as_in_avro():
    assert Schema.parse({"type": "map", "values": "int"}).keys == Schema.STRING


def test_unknown_keys_are_skipped_in_schemas_and_fields():
    document = {
        "type": "record",
        "name": "r",
        "namespace": "io.example",
        "doc": "text",
        "fields": [
            {"name": "f", "type": "int", "default": {"deep": [1]}, "order": "ascending"},
            {"name": "g", "type": {"type": "string", "avro.java.string": "String"}},
        ],
    }

    assert Schema.parse(document) == Schema.record("r", [("f", Schema.INT), ("g", Schema.STRING)])


def test_the_base_type_of_a_logical_type_is_ignored_but_must_be_there():
    assert Schema.parse({"type": "string", "logicalType": "date"}) == Schema.DATE
    with pytest.raises(SchemaError, match=r"Schema type cannot be null - at \$"):
        Schema.parse({"logicalType": "date"})


def test_null_is_accepted_in_either_position_and_kept_there():
    first, last = Schema.parse(["null", "int"]), Schema.parse(["int", "null"])

    assert first.is_nullable
    assert last.is_nullable
    assert first.non_nullable == last.non_nullable == Schema.INT
    assert first.to_json() == ["null", "int"]


@pytest.mark.parametrize(
    ("document", "flat"),
    [
        ([["string", "null"], "null"], ["string", "null"]),
        (["null", ["null", "string"]], ["null", "string"]),
        ([["int", ["long", "int"]], "null", "long"], ["int", "long", "null"]),
        ([["string"]], ["string"]),
    ],
)
def test_a_union_within_a_union_is_one_union(document, flat):
    assert Schema.parse(document) == Schema.parse(flat)


def test_the_last_of_two_fields_of_one_name_counts_at_the_place_of_the_first():
    fields = [("f", Schema.INT), ("g", Schema.STRING), ("f", Schema.LONG)]
    schema = Schema.record("r", fields)

    assert [(each.name, each.schema) for each in schema] == [
        ("f", Schema.LONG),
        ("g", Schema.STRING),
    ]
    document = [{"name": name, "type": str(type.display_name)} for name, type in fields]
    assert Schema.parse({"type": "record", "name": "r", "fields": document}) == schema


def test_nullability_of_unions():
    union = Schema.parse(["int", "null", "string"])

    assert union.is_nullable
    assert union.non_nullable == Schema.parse(["int", "string"])
    assert union.non_nullable.as_nullable == Schema.parse(["int", "string", "null"])
    assert union.as_nullable is union
    assert Schema.NULL.as_nullable is Schema.NULL
    assert Schema.INT.as_nullable.to_json() == ["int", "null"]
    assert Schema.INT.non_nullable is Schema.INT
    assert Schema.parse(["null"]).non_nullable == Schema.NULL


@pytest.mark.parametrize(
    ("precision", "scale", "expected"),
    [(5, 2, (5, 2)), ("5", "2", (5, 2)), (5, None, (5, 0)), (39, 0, (39, 0)), (5.0, 1, (5, 1))],
)
def test_digits_of_a_decimal_may_be_numbers_or_texts(precision, scale, expected):
    document = {"type": "bytes", "logicalType": "decimal", "precision": precision}
    if scale is not None:
        document["scale"] = scale

    schema = Schema.parse(document)

    assert (schema.precision, schema.scale) == expected


@pytest.mark.parametrize("parts", [{}, {"precision": 0}, {"precision": -1}, {"precision": "0"}])
def test_a_decimal_needs_a_positive_precision(parts):
    with pytest.raises(SchemaError, match=r"^Decimal type must contain a positive precision value"):
        Schema.parse({"type": "bytes", "logicalType": "decimal", **parts})
    with pytest.raises(SchemaError, match="positive precision"):
        Schema.of(LogicalType.DECIMAL)


@pytest.mark.parametrize("digits", ["many", 1.5, [], float("inf"), float("nan")])
def test_digits_of_a_decimal_that_are_no_whole_numbers_are_refused(digits):
    with pytest.raises(SchemaError, match=r"'precision' of a decimal must be a whole number"):
        Schema.parse({"type": "bytes", "logicalType": "decimal", "precision": digits})


def test_a_record_may_contain_itself_by_name():
    tree = Schema.parse(TREE)
    inside = tree.field("children").schema.items

    assert (inside.type, inside.name, inside.fields) == (Type.RECORD, "tree", None)
    assert tree.to_json() == TREE
    assert "_hash" not in repr(tree)


def test_a_record_seen_before_may_be_used_by_name_and_is_written_so():
    point = {"type": "record", "name": "point", "fields": [{"name": "x", "type": "int"}]}
    document = {
        "type": "record",
        "name": "line",
        "fields": [{"name": "from", "type": point}, {"name": "to", "type": ["point", "null"]}],
    }

    line = Schema.parse(document)

    assert line.field("to").schema.non_nullable == Schema.parse(point)
    assert line.to_json() == document


def test_two_records_of_one_name_are_both_written_in_full():
    one = Schema.record("r", [("x", Schema.INT)])
    two = Schema.record("r", [("y", Schema.INT)])
    schema = Schema.record("r", [("one", one), ("two", two), ("again", two)])

    assert [type(f["type"]) for f in schema.to_json()["fields"]] == [dict, dict, str]
    assert Schema.parse(schema.to_json()) == schema


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{nope", "The schema is not valid JSON: "),
        ("", "Unknown type '' - at $."),
        ("strin", "Unknown type 'strin' - at $."),
        ("record", "Type 'record' needs more than its name - at $."),
        (["int", 5], "Expected a schema, got 5 - at $[1]."),
        ([], "A union needs at least one member - at $."),
        ({"items": "int"}, "Schema type cannot be null - at $."),
        ({"type": "array"}, "'items' is missing - at $."),
        ({"type": "map", "keys": "string"}, "'values' is missing - at $."),
        ({"type": "enum"}, "An enum needs 'symbols', a list of strings - at $."),
        ({"type": "enum", "symbols": []}, "unique, at least one - at $."),
        ({"type": "enum", "symbols": ["A", "A"]}, "unique, at least one - at $."),
        ({"type": "record", "fields": []}, "A record needs a 'name' - at $."),
        ({"type": "record", "name": "r"}, "Record 'r' needs 'fields', a list - at $."),
        ({"type": "int", "logicalType": "week"}, 'Unknown logical type "week" - at $.'),
        ({"type": {"type": "strin"}}, "Unknown type 'strin' - at $.type.type."),
        (
            {"type": "record", "name": "r", "fields": ["f"]},
            "A field needs a 'name' - at $.fields[0].",
        ),
        (
            {"type": "record", "name": "r", "fields": [{"name": "f"}]},
            "'type' is missing - at $.fields[0].",
        ),
        (
            {
                "type": "record",
                "name": "r",
                "fields": [{"name": "f", "type": {"type": "array", "items": ["null", "txt"]}}],
            },
            "Unknown type 'txt' - at $.fields[0].type.items[1].",
        ),
    ],
)
def test_errors_say_what_is_wrong_and_where(document, message):
    with pytest.raises(SchemaError) as caught:
        Schema.parse(document)

    assert message in str(caught.value)


@pytest.mark.parametrize("depth", [2_000, 200_000])
def test_too_deep_a_document_is_a_schema_error(depth):
    with pytest.raises(SchemaError, match="nested too deeply"):
        Schema.parse('{"type":"array","items":' * depth + '"int"' + "}" * depth)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("int", "A record schema is needed, not 'int'."),
        (["int", "null"], "A record schema is needed, not 'int'."),
        ({"type": "record", "name": "r", "fields": []}, "Record 'r' has no fields."),
    ],
)
def test_a_schema_of_records_must_be_a_record_with_fields(document, message):
    with pytest.raises(SchemaError) as caught:
        Schema.parse_record(document)

    assert str(caught.value) == message


@given(SCHEMAS)
def test_every_schema_survives_its_document(schema):
    assert Schema.parse(schema.to_json()) == schema
    assert Schema.parse(str(schema)) == schema
    assert eval(repr(schema)) == schema


@given(SCHEMAS, SCHEMAS)
def test_equality_is_that_of_documents_and_agrees_with_the_hash(one, other):
    assert (one == other) == (str(one) == str(other))
    for same in (Schema.parse(str(one)), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert same == one
        assert hash(same) == hash(one)


@given(SCHEMAS)
def test_null_is_added_once_and_taken_away(schema):
    nullable = schema.as_nullable

    assert nullable.as_nullable is nullable
    assert schema.type is Type.NULL or schema.as_nullable.is_nullable
    assert not schema.non_nullable.is_nullable


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=4),
        lambda p: (
            st.lists(p)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "items", "keys", "values", "fields", "name", "symbols", "logicalType"]
                ),
                p,
            )
        ),
    )
)
def test_any_json_is_a_schema_or_a_schema_error(document):
    try:
        schema = Schema.parse(json.dumps(document))
    except SchemaError:
        return
    assert Schema.parse(schema.to_json()) == schema


def test_a_schema_differs_from_other_things():
    assert Schema.INT != "int"
    assert Field("a", Schema.INT) != ("a", Schema.INT)
    assert Field("a", Schema.INT) == Field("a", Schema.parse("int"))
    assert len({Field("a", Schema.INT), Field("a", Schema.INT), Field("b", Schema.INT)}) == 2


def test_shape_ignores_the_name_of_the_outermost_record_only():
    inner = Schema.record("inner", [("x", Schema.INT)])
    one = Schema.record("one", [("a", inner)])

    assert one.same_shape(one.renamed("two"))
    assert one != one.renamed("two")
    assert not one.same_shape(Schema.record("one", [("a", inner.renamed("other"))]))
    assert not one.same_shape(Schema.record("one", [("b", inner)]))
    assert not one.same_shape(Schema.INT)
    assert Schema.INT.same_shape(Schema.INT)


def test_all_same_shape():
    one = Schema.record("one", [("a", Schema.INT)])

    assert all_same_shape([one])
    assert all_same_shape([one, one.renamed("two"), one])
    assert not all_same_shape([one, one, Schema.record("one", [("a", Schema.LONG)])])
    assert all_same_shape([])


def test_fields_of_a_record():
    schema = Schema.record("r", [("b", Schema.INT), Field("a", Schema.STRING)])

    assert schema.field_names == ["b", "a"]
    assert [f.name for f in schema] == ["b", "a"]
    assert schema.field("a") == Field("a", Schema.STRING)
    assert schema.field("c") is None
    assert list(Schema.INT) == []
    assert Schema.reference("r").field("a") is None


@pytest.mark.parametrize(
    ("schema", "name", "simple"),
    [
        (Schema.INT.as_nullable, "int", True),
        (Schema.decimal(3, 1).as_nullable, "decimal", True),
        (Schema.TIMESTAMP, "timestamp-micros", True),
        (Schema.enum(["A"]), "enum", False),
        (Schema.union([Schema.INT, Schema.STRING]).as_nullable, "union", False),
        (Schema.array(Schema.INT), "array", False),
    ],
)
def test_display_name_and_simplicity(schema, name, simple):
    assert (schema.display_name, schema.is_simple) == (name, simple)


def test_only_number_types_are_numeric():
    assert [t.value for t in Type if t.is_numeric] == ["int", "long", "float", "double"]


def test_a_type_with_parts_cannot_be_made_of_its_name():
    with pytest.raises(SchemaError, match="Type array needs more than its name"):
        Schema.of(Type.ARRAY)
