"""RowDenormalizer: output fields and failures, and a run."""

from __future__ import annotations

import pytest
from core_plugins.aggregators.row_denormalizer import RowDenormalizer

from localcdap.api import Schema
from localcdap.testing import artifact_ref, run_stage
from tests.conftest import REPOSITORY
from tests.plugins.transform.support import configure, messages, only_failure, record

INPUT = record(
    KeyField=Schema.STRING.as_nullable,
    NameField=Schema.STRING.as_nullable,
    ValueField=Schema.STRING.as_nullable,
    n=Schema.INT,
)
GOOD = {
    "keyField": "KeyField",
    "nameField": "NameField",
    "valueField": "ValueField",
    "outputFields": "Firstname,Lastname,Address",
    "fieldAliases": "Address:Office Address",
}


def test_output_fields():
    stage = configure(RowDenormalizer, GOOD, INPUT)

    assert messages(stage) == []
    text = Schema.STRING.as_nullable
    assert stage.output_schema == Schema.record(
        "output.schema",
        [
            ("KeyField", Schema.STRING),
            ("Firstname", text),
            ("Lastname", text),
            ("Office Address", text),
        ],
    )


@pytest.mark.parametrize(
    ("properties", "message", "cause"),
    [
        ({"keyField": "x"}, "Key field 'x' does not exist in input schema", "keyField"),
        ({"nameField": "n"}, "Name field 'n' in the input record must be a String", "nameField"),
        ({"valueField": "n"}, "Value field 'n' in the input record must be a String", "valueField"),
        (
            {"fieldAliases": "Address"},
            (
                "Either key or value is missing for 'Output fields to rename'. Please make sure that both "
                "key and value are present."
            ),
            "fieldAliases",
        ),
        (
            {"outputFields": "KeyField"},
            "Output field 'KeyField' has the name of the key field.",
            "outputFields",
        ),
    ],
)
def test_wrong_properties(properties, message, cause):
    failure = only_failure(configure(RowDenormalizer, GOOD | properties, INPUT))

    assert (failure.message, failure.field) == (message, cause)


def test_nothing_is_known_before_macros_have_values():
    properties = GOOD | {"outputFields": "${f}"}

    stage = configure(RowDenormalizer, properties, INPUT, macros=["outputFields"])

    assert messages(stage) == []
    assert stage.output_schema is None


@pytest.mark.spark
def test_a_run(spark):
    rows = [
        ("JR", "Firstname", "Jim"),
        ("JR", "Lastname", "Ray"),
        ("JR", "Address", "NE Lakeside."),
        ("BL", "Firstname", "Brett"),
        ("BL", "Lastname", "Lee"),
        (None, "Firstname", "nobody"),
        ("JR", "Firstname", "John"),
        ("BL", "Shoe", "44"),
        ("X", None, "y"),
    ]
    records = [dict(zip(INPUT.field_names, (*row, 1), strict=True)) for row in rows]

    made = run_stage(
        spark,
        artifact_ref(
            REPOSITORY / "plugins_dir" / "core-plugins", "batchaggregator", "RowDenormalizer"
        ),
        GOOD,
        {"in": (INPUT, records)},
    )

    assert sorted(tuple(r.values()) for r in made.records) == [
        ("BL", "Brett", "Lee", None),
        ("JR", "John", "Ray", "NE Lakeside."),
        ("X", None, None, None),
    ]
    assert [(each.change, each.count) for each in made.altered] == [
        ("a record without a key was left out, as in CDAP", 1)
    ]
