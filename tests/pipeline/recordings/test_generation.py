"""Generated records: repeatable, of every type, real by their names, and with keys that join."""

from __future__ import annotations

import json
import sys

import pytest

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import LocalcdapError
from localcdap.api.schema import LogicalType, Schema
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.recordings.generation.field_values import load_provider
from localcdap.pipeline.recordings.generation.records import GenerationHints, RecordGenerator
from localcdap.plugin_lib.wrangler.semantic_types.detection import detect_semantic_type

TEXT = Schema.STRING


PLAIN = read_document({"stages": []})


def generate(fields, stage="Orders", count=100, seed=0, document=PLAIN):
    schema = Schema.record("row", list(fields.items()))
    hints = GenerationHints(document)
    generator = RecordGenerator(schema, stage, count=count, seed=seed, hints=hints)
    records = [each for batch in generator.generate() for each in batch]
    RecordCodec(schema).encode(records)  # every value is of its type
    assert len(records) == count
    return records


def following(type, plugin, properties):
    """A pipeline in which a stage follows the source Orders."""
    stage = {"name": "Next", "plugin": {"name": plugin, "type": type, "properties": properties}}
    return read_document({"stages": [stage], "connections": [{"from": "Orders", "to": "Next"}]})


def test_a_seed_gives_the_same_records_and_another_one_others():
    fields = {"name": TEXT, "amount": Schema.DOUBLE, "at": Schema.of(LogicalType.TIMESTAMP_MICROS)}
    first = generate(fields, seed=7)
    assert generate(fields, seed=7) == first
    assert generate(fields, seed=8) != first
    assert generate(fields, "Customers", seed=7) != first


def test_values_of_every_type_are_made():
    simple = [
        Schema.BOOLEAN,
        Schema.INT,
        Schema.LONG,
        Schema.FLOAT,
        Schema.DOUBLE,
        Schema.BYTES,
        TEXT,
    ]
    logical = [Schema.of(each) for each in LogicalType if each is not LogicalType.DECIMAL]
    decimals = [Schema.decimal(1), Schema.decimal(3, 3), Schema.decimal(38, 10)]
    nested = [
        Schema.array(TEXT),
        Schema.map(TEXT, Schema.INT),
        Schema.record("inner", [("x", Schema.INT.as_nullable), ("y", Schema.array(Schema.DOUBLE))]),
        Schema.enum(["A", "B"]),
        Schema.union([Schema.INT, TEXT]),
    ]
    every = [*simple, *logical, *decimals, *nested]
    generate({f"f{n}": schema for n, schema in enumerate(every)})
    records = generate({f"f{n}": schema.as_nullable for n, schema in enumerate(every)}, count=400)
    nulls = [sum(each[name] is None for each in records) for name in records[0]]
    assert all(0 < count < 80 for count in nulls)


def test_data_prep_finds_the_meaning_of_the_values_that_names_ask_for():
    wanted = {
        "email": "email",
        "phone_number": "phone",
        "creditCard": "card",
        "iban": "iban",
        "firstName": "person-name",
        "last_name": "person-name",
        "street_address": "address",
    }
    records = generate(dict.fromkeys(wanted, TEXT))
    found = {name: detect_semantic_type(name, [r[name] for r in records]) for name in wanted}
    assert {name: each and each.type for name, each in found.items()} == wanted


def test_the_texts_of_a_record_are_of_one_person():
    for each in generate({"first_name": TEXT, "last_name": TEXT, "email": TEXT, "fullName": TEXT}):
        first = each["first_name"].lower().split()[0]
        assert each["email"].startswith(first[:2])
        assert each["fullName"] == f"{each['first_name']} {each['last_name']}"


def test_keys_join_across_sources_and_identify_the_records_of_their_own():
    customers = generate({"id": TEXT, "name": TEXT}, "Customers", count=50)
    orders = generate({"order_id": Schema.LONG, "customerId": TEXT}, "Orders", count=500)
    keys = {each["id"] for each in customers}
    assert len(keys) == 50
    assert {each["customerId"] for each in orders} <= keys
    assert [each["order_id"] for each in orders] == list(range(1, 501))


def test_fields_that_a_joiner_compares_have_the_same_keys():
    keys = {"joinKeys": "A.matnr = B.material & A.x = B.x"}
    document = following("batchjoiner", "Joiner", keys)
    left = generate({"matnr": TEXT, "x": Schema.INT}, "A", document=document)
    right = generate({"material": TEXT, "x": Schema.INT}, "B", document=document)
    assert {each["matnr"] for each in left} & {each["material"] for each in right}
    assert {each["x"] for each in left} & {each["x"] for each in right}


def test_records_are_readable_json_of_plausible_numbers():
    records = generate({"age": Schema.INT, "year": TEXT, "latitude": Schema.DOUBLE})
    json.dumps(records)
    assert all(18 <= each["age"] <= 90 for each in records)
    assert all(2015 <= float(each["year"]) <= 2025 for each in records)
    assert all(-90 <= each["latitude"] <= 90 for each in records)


def test_a_missing_library_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mimesis", None)
    with pytest.raises(LocalcdapError) as error:
        load_provider(0)
    assert error.value.corrective_action == "Install it: pip install 'localcdap[generate]'"


PARSED = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [{"name": "city", "type": "string"}, {"name": "amount", "type": "double"}],
    }
)


@pytest.mark.parametrize(
    ("plugin", "properties", "fits"),
    [
        ("CSVParser", {"field": "body", "schema": PARSED}, lambda text: text.count(",") == 1),
        ("CSVParser", {"schema": PARSED, "format": "PDL"}, lambda text: text.count("|") == 1),
        (
            "Wrangler",
            {"directives": "parse-as-csv :body ';' false\ndrop body_3"},
            lambda text: text.count(";") == 2,
        ),
        (
            "Wrangler",
            {"directives": "parse-as-json :body 1", "schema": PARSED},
            lambda text: set(json.loads(text)) == {"city", "amount"},
        ),
        (
            "Wrangler",
            {"directives": "parse-xml-to-json :body 1", "schema": PARSED},
            lambda text: text.startswith("<record><city>"),
        ),
        ("Wrangler", {"directives": "parse-as-log :body 'common'"}, lambda text: '"GET /' in text),
    ],
)
def test_texts_that_the_next_stage_takes_apart_have_its_form_and_are_never_null(
    plugin, properties, fits
):
    document = following("transform", plugin, properties)
    records = generate({"body": TEXT.as_nullable}, document=document)
    assert all(fits(each["body"]) for each in records)
